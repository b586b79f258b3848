/* The room in which a game is set up. */
"use strict";
(function (Pocket) {
  const { el } = Pocket;
  const PERSON = "person";
  const HOUSE = {
    seven_zero: "7 swaps hands, 0 passes all hands on",
    jump_in: "jump in with an identical card",
    forced_play: "who can play must play",
    elimination: "a match is lost by points, not won",
  };
  const TITLES = { pocket: "UNO Pocket", pocket51: "Pocket, 51 cards", classic: "Classic UNO", mini: "Mini" };
  const SPEEDS = [["0", "at once"], ["350", "fast"], ["800", "normal"], ["1600", "slow"], ["", "step by step"]];
  const kept = { rules: "pocket", seats: null, match: true, pace: "800", house: {} };

  function lobby(root, welcome, start) {
    const rulesOf = (name) => welcome.rules.find((rules) => rules.name === name);
    let agents = [];
    if (!kept.seats) kept.seats = [PERSON, ...(welcome.opponents.length ? welcome.opponents : ["strong"])];
    show();

    function show() {
      const rules = rulesOf(kept.rules);
      kept.seats = kept.seats.slice(0, rules.max_players);
      agents = playing(welcome, kept.rules, kept.seats.length);
      kept.seats = kept.seats.map((name) => name === PERSON || agents.includes(name) ? name : agents[0]);
      const counts = Array.from({ length: rules.max_players - 1 }, (_, i) => i + 2);
      Pocket.redraw(root, el("form", { class: "lobby", onsubmit: submit },
        el("h1", {}, "A new game"),
        el("div", { class: "fan small hello", "aria-hidden": "true" },
          ["R7", "B+1", "WD", "GS", "Y4"].map((card) => el("span", { class: "card" }, Pocket.cardArt(card, true)))),
        field("Rules", el("select", { id: "rules", onchange: (e) => { kept.rules = e.target.value; show(); } },
          welcome.rules.map((r) => option(r.name, TITLES[r.name] || r.name, kept.rules)))),
        field("Players", el("select", { id: "players", onchange: (e) => { resize(Number(e.target.value)); show(); } },
          counts.map((n) => option(n, n, kept.seats.length)))),
        el("fieldset", {}, el("legend", {}, "Who sits there, clockwise"),
          kept.seats.map((name, seat) => seatField(name, seat))),
        field("Length", el("select", { id: "match", onchange: (e) => { kept.match = e.target.value === "match"; } },
          option("match", `a match to ${rules.match_goal} points`, kept.match ? "match" : "round"),
          option("round", "a single round", kept.match ? "match" : "round"))),
        field("Agents play", el("select", { id: "pace", onchange: (e) => { kept.pace = e.target.value; } },
          SPEEDS.map(([value, text]) => option(value, text, kept.pace)))),
        el("details", { open: Object.values(kept.house).some(Boolean) }, el("summary", {}, "House rules"),
          field("Stacking", el("select", { id: "stacking", onchange: (e) => { kept.house.stacking = e.target.value || false; } },
            [["", "off"], ["same", "on the same draw card"], ["any", "on any draw card"]].map(([value, text]) =>
              option(value, text, kept.house.stacking || "")))),
          Object.entries(HOUSE).map(([name, text]) => el("label", { class: "check" },
            el("input", { type: "checkbox", checked: !!kept.house[name], onchange: (e) => { kept.house[name] = e.target.checked; } }), text))),
        el("button", { class: "go", type: "submit" }, kept.seats.includes(PERSON) ? "Deal" : "Watch")));
    }

    function seatField(name, seat) {
      const about = welcome.agents.find((agent) => agent.name === name);
      const people = kept.seats.slice(0, seat).filter((other) => other === PERSON).length;
      return el("div", { class: "seat-field" },
        el("label", {}, `Seat ${seat + 1}`, el("select", { id: `seat-${seat}`, onchange: (e) => { kept.seats[seat] = e.target.value; show(); } },
          option(PERSON, people ? "another person" : "you", name),
          el("optgroup", { label: "agents" }, agents.map((agent) => option(agent, agent, name))))),
        el("small", {}, name === PERSON ? (people ? "gets a link of their own" : "") : about ? about.about : ""));
    }

    function resize(count) {
      while (kept.seats.length < count) kept.seats.push(kept.seats.at(-1) === PERSON ? agents[0] : kept.seats.at(-1));
      kept.seats.length = count;
    }

    function submit(event) {
      event.preventDefault();
      const house = Object.entries(kept.house).filter(([, value]) => value);
      start({
        do: "new", rules: house.length ? { name: kept.rules, ...Object.fromEntries(house) } : kept.rules,
        seats: kept.seats, match: kept.match, pace: kept.pace === "" ? null : Number(kept.pace),
      });
    }
  }

  /* The names of the agents that can play a game. */
  function playing(welcome, rules, players) {
    const fits = ([preset, number]) => preset === rules && number === players;
    return welcome.agents.filter((agent) => !agent.games || agent.games.some(fits)).map((agent) => agent.name);
  }

  function field(text, control) { return el("label", { class: "field" }, el("span", {}, text), control); }

  function option(value, text, chosen) {
    return el("option", { value: String(value), selected: String(value) === String(chosen) }, String(text));
  }

  Object.assign(Pocket, { lobby, playing, field, option, chosenRules: () => kept.rules });
})(window.Pocket);
