"""A page stands alone: nothing from elsewhere, no markup of users, links that lead somewhere."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise

import pytest
from markupsafe import Markup

from nestmap.model import InputError, NetworkProblem, Workload
from nestmap.model.base import copy_with
from nestmap.pipeline.explore.api import explore_network
from nestmap.pipeline.pages.report.assets import Assets, Static, static_text
from nestmap.pipeline.pages.report.layout import NOTHING, document
from nestmap.pipeline.pages.report.page import layer_body, report, run_body
from nestmap.pipeline.pages.report.render import json_block, render, templates
from nestmap.pipeline.pages.report.run import read_reported
from nestmap.store import Store
from tests.pipeline.networks import FIRST, MACHINE, SECOND
from tests.pipeline.pages.report.dom import Element, captioned, grid, read
from tests.pipeline.pages.report.samples import SHORT, Page, front_page, page, paged

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "'\"><svg onload=alert(2)><!--",
    "{{ 7 * 7 }}{% raw %}",
    "a\nb\x1b[31m\u202e &lt;i&gt;",
)
REFERENCES = ("src", "href", "srcset", "action", "data", "poster", "formaction", "background")


def named(*names: str) -> NetworkProblem:
    """Different layers of these names, in a machine and a workload with the first one."""
    layers = (
        copy_with((FIRST, SECOND)[i % 2] if i < 2 else FIRST, {"name": name})
        for i, name in enumerate(names)
    )
    workload = Workload.of(*layers, name=names[0])
    memories = tuple(
        copy_with(x, {"instance": copy_with(x.instance, {"name": f"{names[1]} {x.name}"})})
        for x in MACHINE.memories
    )
    machine = copy_with(MACHINE, {"name": names[0], "memories": memories})
    return NetworkProblem(workload=workload, accelerator=machine)


def explored(problem: NetworkProblem) -> Page:
    """The report of an exploration."""
    with Store.open(None) as store:
        return paged(store, explore_network(problem, SHORT, store=store).run)


def scripts(tree: Element) -> list[Element]:
    """The scripts that run."""
    return [x for x in tree.every("script") if "type" not in x.attributes]


def addresses(tree: Element) -> list[str]:
    """What the attributes of a page refer to."""
    every = [x.attributes for x in tree.every()]
    return [found[name] for found in every for name in REFERENCES if name in found]


def test_nothing_is_fetched() -> None:
    tree = page("blocks").tree
    assert all(x.startswith("#") or x == "data:," for x in addresses(tree))
    assert not {x.tag for x in tree.every()} & {"iframe", "object", "embed", "base", "img", "audio"}
    style = tree.one("style").raw()
    assert "url(" not in style
    assert "@import" not in style


def test_only_its_own_scripts_may_run() -> None:
    tree = page("blocks").tree
    (policy,) = (
        x.attributes["content"]
        for x in tree.every("meta")
        if x.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    digests = [b64encode(sha256(x.raw().encode()).digest()).decode() for x in scripts(tree)]
    assert sorted(rules["script-src"].split()) == sorted(f"'sha256-{x}'" for x in digests)
    assert len(digests) == 4
    assert "connect-src" not in rules
    assert not any(name.startswith("on") for x in tree.every() for name in x.attributes)


def test_names_are_never_markup() -> None:
    plain, found = page("blocks"), explored(named(*HOSTILE))
    assert {x.tag for x in found.tree.every()} <= {x.tag for x in plain.tree.every()}
    assert len(scripts(found.tree)) == len(scripts(plain.tree))
    assert not any(name.startswith("on") for x in found.tree.every() for name in x.attributes)
    table = grid(found.tree.by_id(f"{found.run.anchor}-table"))
    shown = [*HOSTILE[:3], "a\\nb\\x1b[31m\\u202e &lt;i&gt;"]
    assert table.texts("Layer") == shown
    assert f"{HOSTILE[0]} on {HOSTILE[0]}" in found.tree.one("h1").text
    assert any(HOSTILE[1] in text for text in captioned(found.tree, "Memories of").texts("Memory"))


def test_json_ends_no_script() -> None:
    assert json_block('{"a": "</script><!--"}') == '{"a": "\\u003c/script>\\u003c!--"}'


@pytest.mark.parametrize("found", [page, front_page], ids=["best", "fronts"])
def test_links_lead_to_places_that_are_there_once(found: object) -> None:
    tree = (page("blocks") if found is page else front_page()).tree
    ids = [x.attributes["id"] for x in tree.every() if "id" in x.attributes]
    assert len(set(ids)) == len(ids)
    targets = {x[1:] for x in addresses(tree) if x.startswith("#")}
    labels = [x.attributes.get("aria-labelledby", "") for x in tree.every()]
    targets |= {name for label in labels for name in label.split()}
    assert targets <= set(ids)
    assert len(targets) > 12


def test_headings_are_in_order() -> None:
    levels = [int(x.tag[1]) for x in page("blocks").tree.every() if re.fullmatch("h[1-6]", x.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    steps = pairwise(levels)
    assert all(after <= before + 1 for before, after in steps)


def test_tables_are_tables() -> None:
    for table in page("vector").tree.every("table"):
        assert table.one("caption").text
        heads = list(table.every("th"))
        assert heads
        assert all(x.attributes["scope"] in ("col", "row") for x in heads)
        rows = [row for body in table.every("tbody") for row in body.every("tr")]
        assert all(len(list(row.every("th"))) == 1 for row in rows)


def test_bars_have_a_colour_for_dark_pages() -> None:
    """The darkest of light pages is as dark as a dark page."""
    fills = re.findall(r'class="bar".*?fill="([^"]*)"', page("blocks").text)
    assert fills
    assert all(re.fullmatch(r"light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\)", x) for x in fills)


def test_landmarks() -> None:
    tree = page("blocks").tree
    main = tree.one("main")
    skip = next(tree.every("a"))
    assert skip.attributes["href"] == f"#{main.attributes['id']}"
    assert tree.one("html").attributes["lang"] == "en"
    for part in (*tree.every("nav"), *tree.with_class("scroll")):
        assert part.attributes["aria-label"]
    for part in tree.every("section"):
        assert part.attributes["aria-labelledby"]


def test_a_repeated_layer_refers_to_the_first() -> None:
    found = page("blocks")
    for result in found.run.evaluation.layers:
        anchor = f"{found.run.anchor}-layer-{found.run.positions[result.cme.layer]}"
        pane = found.tree.by_id(anchor)
        links = [x.text for x in pane.every("a")]
        if result.repeats is None:
            assert links == list(found.run.repeating(result.cme.layer))
        else:
            assert links == [result.repeats]
            assert not list(pane.every("table"))
    assert sum(result.repeats is not None for result in found.run.evaluation.layers) == 4


def test_the_first_pane_is_the_costliest_layer() -> None:
    found = page("blocks")
    (first,) = (x for x in found.tree.every("section") if "data-first" in x.attributes)
    cmes = [result.cme for result in found.run.evaluation.layers]
    assert first.attributes["data-name"] == max(cmes, key=lambda cme: cme.latency).layer


def test_facts_for_reproduction() -> None:
    found = page("blocks")
    text = found.tree.by_id(f"{found.run.anchor}-facts").text
    info, network = found.run.info, found.run.network
    for fact in (
        str(found.run.id),
        info.version,
        network.content_hash,
        network.workload.content_hash,
        network.accelerator.content_hash,
        found.run.record.host,
    ):
        assert fact in text


def test_every_stage_is_in_the_picture() -> None:
    found = page("blocks")
    part = found.tree.by_id(f"{found.run.anchor}-pipeline")
    names = [x.one("b").text for x in part.with_class("stage")]
    stages = re.findall(r'"stage": "(\w+)"', found.run.info.pipeline)
    assert names == ["for each" if name == "each" else name for name in stages]


def test_a_page_of_a_server_loads_what_it_serves() -> None:
    assets = Assets("/static/", styles=("more.css",), scripts=("more.js",))
    tree = read(document("<title>", Markup("<p>x</p>"), assets))
    assert tree.one("title").text == "<title> - nestmap"
    assert tree.one("main").one("p").text == "x"
    names = ("style.css", "more.css", "theme.js", "vega.js", "charts.js", "report.js", "more.js")
    assert [x for x in addresses(tree) if x.startswith("/")] == [f"/static/{x}" for x in names]


def test_a_run_without_explanations_and_a_layer_alone() -> None:
    with Store.open(None) as store:
        found = explore_network(named("first", "second"), SHORT, store=store)
        run = read_reported(store, found.run)
        body, part = read(run_body(run)), read(layer_body(store, run, "first"))
        assert "Mappings explained" not in body.text
        assert captioned(part, "Latency of first").last("Cycles") == run.result("first").cme.latency
        with pytest.raises(InputError, match="no result of layer 'third'"):
            layer_body(store, run, "third")


def test_every_file_is_in_the_package() -> None:
    folder = files("nestmap.pipeline.pages.report")
    assert {x.name for x in (folder / "static").iterdir()} >= set(Static) - {Static.VEGA}
    assert all(static_text(file) for file in Static)
    found = {x.name for x in (folder / "templates").iterdir() if x.name.endswith(".jinja")}
    assert found == set(templates().list_templates())


def test_no_end_tag_in_what_stands_in_a_page() -> None:
    for file in Static:
        assert not re.search("</(script|style)|<!--", static_text(file), re.IGNORECASE)


def test_templates_escape_whatever_they_are_given() -> None:
    assert render("runs", ("<b>",)).count("&lt;b&gt;") == 1
    assert NOTHING == ""


def test_the_same_run_twice() -> None:
    with Store.open(None) as store:
        run = explore_network(named("first", "second"), SHORT, store=store).run
        with pytest.raises(InputError, match="twice"):
            report(store, [run, run])
