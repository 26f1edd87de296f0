"""The report in a real browser: nothing goes wrong, nothing leaves the page, and axe-core finds nothing to mend."""

import shutil
from pathlib import Path

import pytest

from attar import report
from reported import HOSTILE, described, poisoned

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
WIDTHS = {"desktop": 1280, "phone": 360}

pytest.importorskip("playwright", reason="playwright is not installed: uv sync --group dev")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")


@pytest.fixture(scope="module")
def folder(finished, small_cohort, tmp_path_factory):
    made = described(finished, small_cohort, tmp_path_factory.mktemp("reports") / "run")
    report.write(made)
    return made


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


class Visit:
    """A page that was opened, and what it said and asked for meanwhile."""

    def __init__(self, browser, path: Path, width: int = 1280, scheme: str = "light", script: bool = True):
        self.context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=script
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message) or dialog.dismiss())
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def unfold(self):
        """Open everything that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_page_is_quiet_whole_and_accessible(browser, folder, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    path = folder / "report.html"
    with Visit(browser, path, width, scheme) as visit:
        visit.unfold()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(visit.page).response["violations"]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
        assert visit.said == []
        assert visit.asked == [path.as_uri()]


def test_the_scheme_changes_the_paper_and_the_pictures(browser, folder):
    seen = {}
    for scheme in ("light", "dark"):
        with Visit(browser, folder / "report.html", scheme=scheme) as visit:
            paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
            seen[scheme] = paper, visit.page.locator("svg text").first.evaluate("text => getComputedStyle(text).fill")
    assert seen["light"][0] == "rgb(255, 255, 255)"
    assert all(light != dark for light, dark in zip(seen["light"], seen["dark"], strict=True))


def test_the_page_can_be_read_without_scripts_and_printed_whole(browser, folder):
    with Visit(browser, folder / "report.html", script=False) as visit:
        assert visit.page.locator("section").count() == 9
        assert visit.page.locator("#limits").is_visible()
        visit.page.emulate_media(media="print", color_scheme="dark")
        assert not visit.page.locator("nav").is_visible()
        assert visit.page.pdf(format="A4").startswith(b"%PDF")
    with Visit(browser, folder / "report.html", scheme="dark") as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_wide_tables_scroll_in_their_own_box_and_by_keyboard(browser, folder):
    with Visit(browser, folder / "report.html", width=360) as visit:
        boxes = visit.page.locator("#utility .wide")
        assert boxes.first.evaluate("box => box.scrollWidth > box.clientWidth")
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate("document.activeElement.className") == "skip"
        boxes.first.focus()
        visit.page.keyboard.press("ArrowRight")
        visit.page.wait_for_timeout(500)
        assert visit.page.evaluate("document.activeElement.scrollLeft") > 0


def test_hostile_names_do_nothing(browser, folder, tmp_path):
    names = dict(zip(("small", "age", "race", "white", "hospdead"), (*HOSTILE, *HOSTILE[:2]), strict=True))
    bad = poisoned(shutil.copytree(folder, tmp_path / "bad"), names)
    path = report.write(bad)
    with Visit(browser, path) as visit:
        visit.unfold()
        assert HOSTILE[0] in visit.page.locator("h1").inner_text()
        assert visit.page.locator("script, img").count() == 0
        assert visit.said == []
        assert visit.asked == [path.as_uri()]
