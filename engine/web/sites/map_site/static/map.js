"use strict";
// Draws the map beside the page, and keeps its view in the address (#map=zoom/latitude/longitude).

const AREAS = { land: "#f2efe9", forest: "#add19e", residential: "#e0dfdf", park: "#c8facc" };
const LINES = {
  // kind: [colour, border, width in metres, least width in pixels, dashes]
  river: ["#aad3df", "", 55, 1.5],
  path: ["#fa8072", "", 2, 1, [3, 3]], footway: ["#fa8072", "", 2, 1.2, [4, 2]],
  cycleway: ["#3b5bdb", "", 2, 1.2, [5, 3]], rail: ["#777", "", 3, 1, [8, 4]],
  pedestrian: ["#dddde8", "#999", 9, 2], living_street: ["#ededed", "#bbb", 8, 1.5],
  residential: ["#fff", "#bbb", 8, 1.5], tertiary: ["#fff", "#999", 10, 2], motorway_link: ["#e892a2", "#c24e6b", 8, 1.5],
  secondary: ["#f7fabf", "#a3a35c", 12, 2], primary: ["#fcd6a4", "#a06b00", 13, 2.2], motorway: ["#e892a2", "#c24e6b", 14, 2.5],
};
const ORDER = ["land", "residential", "forest", "park", "river", "rail", "path", "footway", "cycleway", "pedestrian",
  "living_street", "residential ", "tertiary", "motorway_link", "secondary", "primary", "motorway"];

const Tiles = L.GridLayer.extend({
  createTile(at, done) {
    const canvas = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.height = 256 * ratio;
    canvas.setAttribute("aria-hidden", "true");
    fetch(`/tiles/${at.z}/${at.x}/${at.y}`).then((reply) => reply.json()).then((tile) => {
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      draw(pen, tile, at);
      done(null, canvas);
    }).catch((error) => done(error, canvas));
    return canvas;
  },
});

function draw(pen, tile, at) {
  const lat = Math.atan(Math.sinh(Math.PI * (1 - (2 * at.y) / 2 ** at.z)));
  const metre = (2 ** at.z * 256) / (40030000 * Math.cos(lat)); // pixels
  const named = [];
  pen.lineJoin = pen.lineCap = "round";
  const shapes = tile.shapes.map(([kind, name, line]) => ({
    // A residential area is closed, a residential road is not.
    kind: kind === "residential" && !closed(line) ? "residential " : kind, name, line,
  })).sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  for (const { kind, line } of shapes) if (AREAS[kind]) { trace(pen, line); pen.fillStyle = AREAS[kind]; pen.fill(); }
  for (const border of [true, false]) {
    for (const { kind, name, line } of shapes) {
      const style = LINES[kind.trim()];
      if (!style || AREAS[kind]) continue;
      const width = Math.max(style[3], style[2] * metre);
      if (border && (!style[1] || width < 3)) continue;
      trace(pen, line);
      pen.setLineDash(style[4] && !border ? style[4] : []);
      pen.strokeStyle = border ? style[1] : style[0];
      if (!border && width < 3 && style[1] && kind !== "pedestrian") pen.strokeStyle = style[1];
      pen.lineWidth = border ? width + 2 : width;
      pen.stroke();
      if (!border && name) named.push({ kind, name, line });
    }
  }
  pen.setLineDash([]);
  for (const spot of tile.spots) if (spot[2] && at.z >= 16) house(pen, spot, 12 * metre, at.z);
  const taken = [];
  if (at.z >= 17) for (const [kind, name, , x, y] of tile.spots) {
    if (name && kind !== "City" && kind !== "Town") label(pen, name, x, y - 9, "10px sans-serif", "#734a08", taken);
  }
  if (at.z < 16) for (const [kind, name, , x, y] of tile.spots) if (kind === "City" || kind === "Town") {
    label(pen, name, x, y, `${kind === "City" ? "bold " : ""}${at.z < 8 ? 11 : 14}px sans-serif`, "#222", taken);
  }
  if (at.z >= 15) for (const each of named) along(pen, each.name, each.line, taken);
  if (at.z === 14 || at.z < 12) for (const each of named) {
    if (["river", "motorway", "primary"].includes(each.kind)) along(pen, each.name, each.line, taken);
  }
}

function covered([left, top, right, bottom], taken) {
  return taken.some(([l, t, r, b]) => left < r && right > l && top < b && bottom > t);
}

function closed(line) {
  return line.length > 6 && line[0] === line[line.length - 2] && line[1] === line[line.length - 1];
}

function trace(pen, line) {
  pen.beginPath();
  for (let i = 0; i < line.length; i += 2) pen.lineTo(line[i], line[i + 1]);
}

function house(pen, [kind, name, number, x, y], size, zoom) {
  pen.fillStyle = name ? (kind === "Railway station" ? "#7981b0" : "#c7a27c") : "#d9d0c9";
  pen.strokeStyle = "#b8a99c";
  pen.lineWidth = 0.7;
  pen.fillRect(x - size / 2, y - size / 2, size, size);
  pen.strokeRect(x - size / 2, y - size / 2, size, size);
  if (zoom >= 18 && !name) write(pen, number, x, y, "9px sans-serif", "#666");
}

function write(pen, text, x, y, font, colour) {
  pen.font = font;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.lineWidth = 3;
  pen.strokeStyle = "#ffffffcc";
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

function label(pen, text, x, y, font, colour, taken) {
  pen.font = font;
  const half = pen.measureText(text).width / 2;
  const free = [y, y - 15, y + 15].find((at) => !covered([x - half, at - 7, x + half, at + 7], taken));
  if (free === undefined) return;
  taken.push([x - half, free - 7, x + half, free + 7]);
  write(pen, text, x, free, font, colour);
}

// Writes a name along the longest straight part of a line, if it fits there and no name of a place is there.
function along(pen, text, line, taken) {
  let best = null;
  for (let i = 0; i + 3 < line.length; i += 2) {
    const long = Math.hypot(line[i + 2] - line[i], line[i + 3] - line[i + 1]);
    if (!best || long > best.long) best = { long, i };
  }
  // Streets are straight, so the whole of one may be longer than its parts.
  const [a, b, c, d] = [line[0], line[1], line[line.length - 2], line[line.length - 1]];
  const whole = Math.hypot(c - a, d - b);
  const i = best ? best.i : 0;
  const straight = best && line.length <= 40 && whole > best.long ? [a, b, c, d] : line.slice(i, i + 4);
  pen.font = "11px sans-serif";
  if (straight.length < 4 || Math.hypot(straight[2] - straight[0], straight[3] - straight[1]) < pen.measureText(text).width + 8) return;
  let angle = Math.atan2(straight[3] - straight[1], straight[2] - straight[0]);
  if (Math.abs(angle) > Math.PI / 2) angle += Math.PI;
  const [x, y, half] = [(straight[0] + straight[2]) / 2, (straight[1] + straight[3]) / 2, pen.measureText(text).width / 2];
  const [across, down] = [Math.abs(Math.cos(angle)), Math.abs(Math.sin(angle))];
  const [wide, high] = [half * across + 6 * down, half * down + 6 * across];
  if (covered([x - wide, y - high, x + wide, y + high], taken)) return;
  pen.save();
  pen.translate(x, y);
  pen.rotate(angle);
  write(pen, text, 0, 0, "11px sans-serif", "#333");
  pen.restore();
}

const view = JSON.parse(document.getElementById("view").textContent);
const map = L.map("map", { minZoom: 6, maxZoom: 19, zoomSnap: 1, fadeAnimation: false, zoomAnimation: false, attributionControl: false });
// A bar moves while tiles are drawn; so who waits for a page to come to rest waits for them.
const bar = document.getElementById("bar");
let moving = null;
function loading(now) {
  if (moving) moving.cancel();
  moving = now ? bar.animate([{ width: "0" }, { width: "100%" }], { duration: 5000 }) : null;
}
new Tiles({ keepBuffer: 1 }).on("loading", () => loading(true)).on("load", () => loading(false)).addTo(map);
document.querySelector(".leaflet-map-pane").setAttribute("aria-hidden", "true"); // Lists beside the map say the same.
L.control.scale({ imperial: false, position: "bottomleft" }).addTo(map);

const points = view.points || [];
points.forEach(([lat, lon], number) => {
  const icon = L.divIcon({ className: "pin", html: String(number + 1), iconSize: [18, 18] });
  L.marker([lat, lon], { icon, interactive: false, keyboard: false }).addTo(map);
});
if (view.line) L.polyline(view.line, { color: "#1c4fd6", weight: 5, opacity: 0.75, interactive: false }).addTo(map);

const given = /^#map=(\d+)\/(-?[\d.]+)\/(-?[\d.]+)$/.exec(location.hash);
const kept = /^(\d+)\/(-?[\d.]+)\/(-?[\d.]+)$/.exec(sessionStorage.getItem("view") || "");
const all = view.line || (points.length ? points.map(([lat, lon]) => [lat, lon]) : null);
if (given) map.setView([+given[2], +given[3]], +given[1]);
else if (all) map.fitBounds(all, { maxZoom: 17, padding: [40, 40] });
else if (kept && location.pathname !== "/") map.setView([+kept[2], +kept[3]], +kept[1]);
else map.fitBounds(view.fit || [[47.0, -31.0], [48.08, -28.78]]);

function moved() {
  const { lat, lng } = map.getCenter();
  const state = `${map.getZoom()}/${lat.toFixed(5)}/${lng.toFixed(5)}`;
  history.replaceState(null, "", `#map=${state}`);
  sessionStorage.setItem("view", state);
  document.getElementById("state").textContent = `Zoom ${map.getZoom()}, centre ${lat.toFixed(5)}, ${lng.toFixed(5)}`;
}
map.on("moveend", moved);
moved();
window.addEventListener("hashchange", () => {
  const found = /^#map=(\d+)\/(-?[\d.]+)\/(-?[\d.]+)$/.exec(location.hash);
  if (found) map.setView([+found[2], +found[3]], +found[1]);
});

function there({ lat, lng }) {
  return `${lat.toFixed(5)}, ${lng.toFixed(5)}`;
}
function asked(point) {
  return `/query?lat=${point.lat.toFixed(5)}&lon=${point.lng.toFixed(5)}`;
}
document.getElementById("where").addEventListener("click", () => { location.href = asked(map.getCenter()); });

const menu = document.getElementById("menu");
map.on("contextmenu", (event) => {
  const form = new URLSearchParams(location.pathname === "/directions" ? location.search : "");
  const from = new URLSearchParams(form), to = new URLSearchParams(form);
  from.set("from", there(event.latlng));
  to.set("to", there(event.latlng));
  for (const each of [from, to]) for (const key of ["from", "to"]) if (!each.has(key)) each.set(key, "");
  const entries = [
    ["Directions from here", `/directions?${from}`], ["Directions to here", `/directions?${to}`],
    ["Show address", asked(event.latlng)],
    ["Centre map here", `#map=${map.getZoom()}/${event.latlng.lat.toFixed(5)}/${event.latlng.lng.toFixed(5)}`],
  ];
  menu.replaceChildren(...entries.map(([text, href]) => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.textContent = text;
    link.href = href;
    item.append(link);
    return item;
  }));
  menu.style.left = `${event.containerPoint.x}px`;
  menu.style.top = `${event.containerPoint.y}px`;
  menu.hidden = false;
});
map.on("click movestart", () => { menu.hidden = true; });
