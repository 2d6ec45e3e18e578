"""What the local sites that are programs of Django share: how their data are made, and how they are served."""

from __future__ import annotations

from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites.site import ServerCommand, venv_python

BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class DjangoSite:
    """A site that Django serves, in the sites' own environment. Its subclasses are each a `Site`.

    Attributes:
        name: Its name. The module NAME_settings has its settings, NAME_seed makes its data, and the variable
            JITRL_NAME_DATA names the folder of its data.
        module: Its Python package, as the folder in site-packages is called.
        code: The folder with these two modules.
    """

    name: str
    module: str
    code: Path

    def missing(self, saves: Path) -> str:
        """Return a sentence if its packages are not in the sites' environment, else ""."""
        if any((venv_python(saves).parent.parent / "lib").glob(f"python3*/site-packages/{self.module}")):
            return ""
        return f"the {self.name}'s packages are not here; get them with: jitrl web up {self.name} --install"

    def build(self, folder: Path, saves: Path) -> None:
        """Create the database and the search index.

        Raises:
            GameError: Creating them failed.
        """
        done = children.run(
            f"making the {self.name}", [str(venv_python(saves)), "-P", str(self.code / f"{self.name}_seed.py")],
            children.environment(self._environment(folder)), cwd=folder, capture_output=True,
            timeout=BUILD_TIMEOUT_S, input=self.seed(),
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise GameError(
                f"the {self.name}'s data could not be made: {said[-1] if said else 'there was no output'}"
            )

    def seed(self) -> bytes:
        """Return what NAME_seed reads from its standard input."""
        return b""

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves it on the loopback. Django opens its files again for every request."""
        argv = ("-P", "-m", "django", "runserver", "--noreload", "--insecure", "--skip-checks", f"127.0.0.1:{port}")
        return ServerCommand((str(venv_python(saves)), *argv), self._environment(live))

    def _environment(self, folder: Path) -> dict[str, str]:
        return {
            "PYTHONPATH": str(self.code), "DJANGO_SETTINGS_MODULE": f"{self.name}_settings",
            "PYTHONDONTWRITEBYTECODE": "1", f"JITRL_{self.name.upper()}_DATA": str(folder),
        }  # fmt: skip
