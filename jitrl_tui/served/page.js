// Give the terminal the keys as soon as it is there, so that nobody has to click first.
const looking = setInterval(() => {
  const terminal = document.querySelector(".xterm-helper-textarea");
  if (terminal && document.body.classList.contains("-first-byte")) {
    clearInterval(looking);
    terminal.focus();
  }
}, 50);
