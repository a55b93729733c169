"""What an agent may reach is never more than what the agent that asks it may reach."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit import Agent, ScriptedModel, skill
from remit.deployment.config import SubAgentConfig
from remit.deployment.deployment import Deployment
from remit.deployment.reach import Reach, deployment_reach
from remit.deployment.try_pack import try_pack
from remit.errors import PolicyError
from remit.models.protocol import ModelRequest
from remit.models.scripted import ask
from remit.packs.permissions import Permission
from remit_sandbox.values import Rights
from tests.delegation_parts import Cast, bot, give, last, spec, who

CODE = '''\
from pathlib import Path

def show(path: str) -> str:
    """Show a file."""
    return Path(path).read_text()

def keep(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return "kept"

def ask(host: str) -> str:
    """Ask a host."""
    return host
'''
MANIFEST = """\
manifest = 1
[pack]
name = "made"
[permissions]
net = ["*.example.com:443", "api.example.org:443"]
fs.read = ["${workspace}/**"]
fs.write = ["${workspace}/**"]
[[skill]]
name = "show"
handler = "made_pack:show"
effect = "read"
uses = ["fs.read"]
[[skill]]
name = "keep"
handler = "made_pack:keep"
effect = "write"
uses = ["fs.read", "fs.write"]
[[skill]]
name = "ask"
handler = "made_pack:ask"
effect = "read"
uses = ["net"]
[[skill]]
name = "scan"
handler = "made_pack:show"
effect = "read"
uses = ["fs.read", "fs.write"]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Deployment]]:
    place = tmp_path_factory.mktemp("rights")
    package = place / "made_pack"
    package.mkdir()
    (package / "__init__.py").write_text(CODE)
    (package / "pack.toml").write_text(MANIFEST)
    opened = []

    def build(**options: Any) -> Deployment:
        opened.append(try_pack(package, enforcement="available", **options))
        return opened[-1]

    yield build
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def deployment(made: Callable[..., Deployment]) -> Deployment:
    deployment = made()
    for folder in ("docs", "docs/deep", "out"):
        (deployment.workspace / folder).mkdir(parents=True)
    return deployment


PATHS = st.lists(
    st.sampled_from(["${workspace}/**", "${workspace}/docs/**", "${workspace}/docs/deep/**", "${workspace}/out/**"]),
    max_size=2,
)
HOSTS = st.lists(st.sampled_from(["*.example.com:443", "a.example.com:443", "api.example.org:443"]), max_size=2)
GRANTS = st.fixed_dictionaries(
    {}, optional={"fs": st.fixed_dictionaries({}, optional={"read": PATHS, "write": PATHS}), "net": HOSTS}
)
NAMES = st.none() | st.lists(st.sampled_from(["made", "made.show", "made.keep", "made__ask"]), max_size=3)
AGENTS = st.builds(
    lambda names, grant: SubAgentConfig.model_validate(
        {"description": "x", "skills": names, "grant": {} if grant is None else {"made": grant}}
    ),
    NAMES,
    st.none() | GRANTS,
)


def no_wider(child: Reach, parent: Reach) -> None:
    assert set(child.skills) <= set(parent.skills)
    for full, own in child.skills.items():
        above = parent.skills[full]
        mine, theirs = Permission.parse(own.right), Permission.parse(above.right)
        assert mine.within(theirs), (full, own.right, above.right)
        assert own.withheld or not above.withheld
        assert own.cell is not None and above.cell is not None
        _rights_within(own.cell.rights, above.cell.rights)


def _rights_within(mine: Rights, theirs: Rights) -> None:
    def covered(path: str, others: tuple[str, ...]) -> bool:
        return any(path == other or (other.endswith("/**") and path.startswith(other[:-2])) for other in others)

    assert all(covered(path, theirs.write) for path in mine.write)
    assert all(covered(path, (*theirs.read, *theirs.write)) for path in mine.read)
    assert set(mine.private_net) <= set(theirs.private_net) and set(mine.exec) <= set(theirs.exec)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(chain=st.lists(AGENTS, min_size=1, max_size=3), upper=st.none() | AGENTS)
def test_no_chain_of_agents_ever_widens(deployment: Deployment, chain: list[SubAgentConfig], upper: Any) -> None:
    reach = deployment_reach(deployment)
    if upper is not None:
        reach = Reach(skills=reach.skills, packs=reach.packs, ground=reach.ground, ceilings={"a1": upper})
    for number, agent in enumerate(chain):
        below = reach.of(f"a{number}", agent)
        no_wider(below, reach)
        no_wider(below, deployment_reach(deployment))
        reach = below


def test_a_grant_narrows_and_a_right_that_implies_less_is_less(deployment: Deployment) -> None:
    agent = SubAgentConfig.model_validate(
        {"description": "x", "grant": {"made": {"fs": {"read": ["${workspace}/docs/**"], "write": []}, "net": []}}}
    )
    reach = deployment_reach(deployment).of("reader", agent)
    assert reach.skills["made.show"].right == {"fs.read": ("${workspace}/docs/**",)}
    assert "fs.write" not in reach.skills["made.keep"].right and reach.skills["made.keep"].effect == "write"
    assert (deployment.skills["made.scan"].effect, reach.skills["made.scan"].effect) == ("write", "read")


def test_what_a_mode_withholds_stays_withheld(made: Callable[..., Deployment]) -> None:
    deployment = made(read_only=True)
    agent = SubAgentConfig.model_validate({"description": "x", "grant": {"made": {"fs": {"write": []}}}})
    assert deployment.skills["made.scan"].withheld
    assert deployment_reach(deployment).of("reader", agent).skills["made.scan"].withheld


@pytest.mark.confinement
def test_the_kernel_holds_it(deployment: Deployment) -> None:
    """The file that the agent may not read is read by the one that asks it: the guard off, the action succeeds."""
    (deployment.workspace / "plan.txt").write_text("the plan")
    path = str(deployment.workspace / "plan.txt")
    grant = {"made": {"fs.read": ["${workspace}/docs/**"]}}

    def script(request: ModelRequest) -> Any:
        if who(request) == "reader":
            return ask("made.show", path=path) if last(request) == "read" else last(request)
        if last(request) == "go":
            return [ask("made.show", path=path), give("reader", "read")]
        return last(request)

    reader = spec("reader", skills=["made.show"], grant=grant)
    with Agent(deployment, model=ScriptedModel(script), agents=[reader]) as agent:
        own, below = agent.run("go").calls
    assert own.value == "the plan"
    assert below.labels == {"untrusted"} and "the plan" not in below.text and "Permission denied" in below.text


def test_a_grant_wider_than_the_pack_asks_for_is_refused(deployment: Deployment) -> None:
    from remit.deployment.reach import check_grant

    agent = SubAgentConfig.model_validate({"description": "x", "grant": {"made": {"net": ["evil.example:443"]}}})
    with pytest.raises(PolicyError, match="agent reader is granted more of pack made"):
        check_grant("reader", deployment.assembled.packs["made"], agent.grant["made"])


@skill(effect="read", labels=())
def one() -> str:
    """One."""
    return "1"


@skill(effect="read", labels=())
def two() -> str:
    """Two."""
    return "2"


@skill(effect="write")
def three() -> str:
    """Three."""
    return "3"


def offered(agent: Agent, cast: Cast, name: str, **terms: Any) -> set[str]:
    agent.run("go", **terms)
    return {tool.name for tool in cast.requests[name][0].tools}


def test_a_child_s_skills_are_a_subset_down_the_chain() -> None:
    agents = [
        spec("a", skills=["local.one", "local__two"], agents=["b"]),
        spec("b", skills=["local.two", "local.three"]),
    ]
    cast = Cast(top=[give("a"), "end"], a=[give("b"), "end"], b=["end"])
    with bot(cast, one, two, three, agents=agents) as agent:
        assert offered(agent, cast, "a") == {"local__one", "local__two", "remit__delegate"}
    assert {tool.name for tool in cast.requests["b"][0].tools} == {"local__two"}


@pytest.mark.parametrize(
    ("terms", "left"),
    [
        ({}, {"local__one", "local__two", "local__three"}),
        ({"without": ["local.two"]}, {"local__one", "local__three"}),
        ({"skills": ["local.one", "remit.delegate"]}, {"local__one"}),
    ],
)
def test_the_terms_of_the_run_above_narrow_the_child(terms: Any, left: set[str]) -> None:
    cast = Cast(top=[give("a"), "end"], a=["end"])
    with bot(cast, one, two, three, agents=[spec("a")]) as agent:
        assert offered(agent, cast, "a", **terms) == left


def test_a_run_without_delegating_cannot() -> None:
    cast = Cast(top=[give("a"), last], a=["end"])
    with bot(cast, one, agents=[spec("a")]) as agent:
        result = agent.run("go", without=["remit.delegate"])
    assert result.calls[0].status == "invalid" and cast.asked == ["top", "top"]


def test_read_only_and_unattended_cross() -> None:
    cast = Cast(top=[give("a"), last], a=[ask("local.three"), last])
    with bot(cast, one, three, agents=[spec("a")], read_only=True) as agent:
        assert "read-only" in agent.run("go").answer
    assert {tool.name for tool in cast.requests["a"][0].tools} == {"local__one"}
    cast = Cast(top=[give("a"), last], a=[ask("local.three"), last])
    with bot(cast, three, agents=[spec("a")], unattended="deny") as agent:
        assert "nobody can give it" in agent.run("go").answer


def test_the_kill_switch_works_in_children() -> None:
    from remit.state.switches import Switches, off_now

    cast = Cast(top=[give("a"), last, give("a", "again"), last], a=[ask("local.one"), last, ask("local.one"), last])
    with bot(cast, one, agents=[spec("a")]) as agent:
        assert agent.run("go").answer == "1"
        Switches(agent.state.folder).switch_off(off_now("local.one", reason="broken", who="ann"))
        assert "broken" in agent.run("go").answer


def test_rules_know_the_agent_by_its_name(tmp_path: Path) -> None:
    from remit.deployment.init import init
    from remit.deployment.trust import trust

    init(tmp_path, enforcement="available").apply()
    config = tmp_path / "remit.toml"
    rule = (
        '[[rule]]\nid = "r"\nverdict = "deny"\nmatch = { skill = "local.one" }\nwhen = { agent = ["a"] }\n'
        'reason = "not a"\n'
    )
    agents = '[agents.a]\ndescription = "A."\n[agents.b]\ndescription = "B."\n'
    config.write_text(config.read_text() + '\n[host_skills]\nallow = ["local.one"]\n' + agents + rule)
    trust(tmp_path)
    scripts: dict[str, Any] = {name: [ask("local.one"), last] for name in ("a", "b")}
    cast = Cast(top=[[give("a"), give("b")], "end"], **scripts)
    with Agent(tmp_path, model=ScriptedModel(cast), skills=(one,)) as agent:
        result = agent.run("go")
    assert "not a" in result.calls[0].text and result.calls[1].text == "1"
    assert json.dumps([call.status for call in result.calls]) == '["ok", "ok"]'
