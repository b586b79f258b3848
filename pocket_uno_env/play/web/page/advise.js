/* The advisor: describe what you see of a table, and agents say what they would do. */
"use strict";
(function (Pocket) {
  const { el, cardArt, spoken, field, option } = Pocket;
  const PHASES = {
    play: "it is my turn", drawn: "I drew a card that can be played", challenge: "a wild draw was played on me",
    uno: "I have one card left now", catch: "somebody is silent with one card", give: "I must give a card away",
  };
  const form = { rules: "pocket", hand: [], top: [], discards: [], before: [], color: "", beforeColor: "", others: "5", scores: "", phase: "play", direction: "1", target: "hand", agent: "strong", silent: "1" };

  function advise(root, welcome) {
    let answer = null;
    show();

    function show() {
      const rules = welcome.rules.find((one) => one.name === form.rules);
      const needsBefore = !["play", "drawn"].includes(form.phase);
      Pocket.redraw(root, el("div", { class: "advise" },
        el("form", { class: "lobby wide", onsubmit: submit },
          el("h1", {}, "Advisor"),
          el("p", { class: "quiet" }, "Describe what you see. Choose a box, then click cards; click a card in a box to take it out."),
          field("Rules", select("rules", welcome.rules.map((one) => [one.name, one.name]), () => { form.hand = []; form.top = []; form.discards = []; form.before = []; })),
          field("What is asked", select("phase", Object.entries(PHASES))),
          box("hand", "My hand"), box("top", "Top card"),
          form.top[0] && Pocket.isWild(form.top[0]) ? field("Colour named", colors("color", rules)) : null,
          needsBefore ? box("before", "What it was played on") : null,
          needsBefore && form.before[0] && Pocket.isWild(form.before[0]) ? field("Colour before", colors("beforeColor", rules)) : null,
          form.phase === "catch" ? field("Who is silent", text("silent", "1 is on my left")) : null,
          field("Cards of the others", text("others", "from my left, such as 5 or 4 2 7")),
          field("Points in the match", text("scores", "mine first, such as 40 120; none for a single round")),
          field("Direction", select("direction", [["1", "clockwise"], ["-1", "counter-clockwise"]])),
          box("discards", `Seen before, under ${needsBefore ? "what it was played on" : "the top card"}`),
          palette(rules),
          field("Agent", select("agent", welcome.agents.map((agent) => [agent.name, agent.name]))),
          el("button", { class: "go", type: "submit" }, "Advise")),
        el("aside", { class: "side" }, answer)));
    }

    function select(name, options, then) {
      return el("select", { id: `advise-${name}`, onchange: (e) => { form[name] = e.target.value; if (then) then(); show(); } },
        options.map(([value, shown]) => option(value, shown, form[name])));
    }

    function text(name, hint) {
      return el("input", { id: `advise-${name}`, value: form[name], placeholder: hint, title: hint, oninput: (e) => { form[name] = e.target.value; } });
    }

    function colors(name, rules) {
      return select(name, [["", "choose"], ...Object.entries(Pocket.COLORS).slice(0, rules.colors)]);
    }

    function box(name, title) {
      return el("fieldset", { class: "box" + (form.target === name ? " target" : ""), onclick: () => { if (form.target !== name) { form.target = name; show(); } } },
        el("legend", {}, el("button", { type: "button", class: "link", id: `box-${name}`, "aria-pressed": String(form.target === name), onclick: () => { form.target = name; show(); } }, title)),
        form[name].map((card, i) => el("button", { type: "button", class: "card tiny", "aria-label": `take ${spoken(card)} out`,
          onclick: (e) => { e.stopPropagation(); form[name].splice(i, 1); show(); } }, cardArt(card, true))));
    }

    function palette(rules) {
      const used = [...form.hand, ...form.top, ...form.discards, ...form.before];
      return el("div", { class: "palette", role: "group", "aria-label": "cards" }, rules.kinds.map(([card, copies]) => {
        const left = copies - used.filter((one) => one === card).length;
        return el("button", { type: "button", class: "card tiny", disabled: left <= 0, "data-card": card, "aria-label": `add ${spoken(card)}`,
          onclick: () => { if (["top", "before"].includes(form.target)) form[form.target] = [card]; else form[form.target].push(card); show(); } }, cardArt(card, true));
      }));
    }

    function numbers(text) { return text.trim().split(/[\s,]+/).map(Number); }

    async function submit(event) {
      event.preventDefault();
      const asked = {
        rules: form.rules, phase: form.phase, hand: form.hand, discards: form.discards, direction: Number(form.direction), agents: [form.agent],
        others: numbers(form.others),
        ...(form.scores.trim() ? { scores: numbers(form.scores) } : {}),
        ...(form.top[0] ? { top: form.top[0] } : {}),
        ...(form.color ? { color: form.color } : {}),
      };
      if (form.top[0] && !Pocket.isWild(form.top[0])) delete asked.color;
      if (form.phase === "drawn") asked.drawn = form.hand.at(-1);
      if (!["play", "drawn"].includes(form.phase) && form.before[0]) {
        asked.before_top = form.before[0];
        if (Pocket.isWild(form.before[0])) asked.before_color = form.beforeColor;
      }
      if (form.phase === "catch") asked.silent = Number(form.silent);
      answer = el("p", { class: "quiet" }, "Thinking…");
      show();
      const found = await Pocket.post("/advise", asked);
      const names = ["You", ...asked.others.map((_, i) => `seat ${i + 1}`)];
      answer = found.error ? el("p", { class: "error", role: "alert" }, found.error)
        : el("div", {}, found.advice.map((one) => Pocket.opinion(one, names, null)));
      show();
    }
  }

  Object.assign(Pocket, { advise });
})(window.Pocket);
