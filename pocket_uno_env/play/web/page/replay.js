/* A film of a game: step through it, see it from any seat, jump to where agents differ. */
"use strict";
(function (Pocket) {
  const { el } = Pocket;

  /* Shows a film in `root`; `extra` are more controls. Returns what a key does. */
  function replay(root, film, extra) {
    let at = 0, viewer = null, playing = null, pair = "any";
    const last = film.frames.length - 1;
    const stage = el("div", { class: "stage" }), side = el("aside", { class: "side" });
    const slider = el("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "position",
      oninput: () => go(Number(slider.value)) });
    const where = el("output", { class: "where" });
    const seats = el("select", { "aria-label": "seen from", onchange: () => { viewer = seats.value === "" ? null : Number(seats.value); show(); } },
      el("option", { value: "" }, "all hands open"),
      film.players.map((name, i) => el("option", { value: i }, `as ${name} sees it`)));
    const play = button("▶ play", "space", () => toggle());
    const pairs = el("select", { "aria-label": "which difference", onchange: () => { pair = pairs.value; } },
      el("option", { value: "any" }, "an agent and what was played"),
      film.agents.length > 1 ? el("option", { value: "agents" }, "the agents") : null);
    const differ = film.agents.length ? el("span", { class: "group" },
      button("next difference", "d", () => jump(1)), el("label", {}, "between ", pairs)) : null;
    root.replaceChildren(el("div", { class: "replay" },
      el("div", { class: "controls" },
        el("span", { class: "group" },
          button("|◀", "home", () => go(0), "to the beginning"), button("‹", "←", () => go(at - 1), "a step back"),
          play, button("›", "→", () => go(at + 1), "a step forward"), button("▶|", "end", () => go(last), "to the end")),
        slider, where, seats, differ, extra || null),
      el("div", { class: "columns" }, stage, side)));
    const outlook = Pocket.outlook(film, go);
    show();

    function button(text, key, act, label) {
      return el("button", { type: "button", onclick: act, title: `${label || text} (${key})`, "aria-label": label || text }, text);
    }

    function differs(frame) {
      const choices = Object.values(frame.opinions).map((found) => found.choice);
      if (!choices.length) return false;
      return pair === "agents" ? new Set(choices).size > 1 : choices.some((choice) => choice !== frame.action);
    }

    function jump(step) {
      for (let i = at + step; i >= 0 && i <= last; i += step) if (differs(film.frames[i])) return go(i);
      where.textContent = "no more differences";
    }

    function toggle() {
      if (playing) { clearInterval(playing); playing = null; }
      else playing = setInterval(() => { if (at === last) toggle(); else go(at + 1); }, 900);
      play.textContent = playing ? "⏸ stop" : "▶ play";
    }

    function go(place) { at = Math.min(Math.max(place, 0), last); show(); }

    function seen(frame) {
      if (viewer === null) return frame.sight;
      const known = (frame.known[viewer] || {});
      const open = frame.sight.result && frame.sight.result.end === "out";
      const hands = frame.sight.hands.map((hand, i) => i === viewer || open ? hand
        : { size: hand.size, cards: null, known: known[i] || [] });
      return { ...frame.sight, hands };
    }

    function show() {
      const frame = film.frames[at], sight = seen(frame);
      slider.value = at;
      where.textContent = `${at + 1} of ${last + 1}` + (film.match ? `, round ${frame.round + 1}` : "");
      const asked = sight.to_act === null ? null : film.players[sight.to_act];
      const may = viewer === null || viewer === sight.to_act;
      stage.replaceChildren(Pocket.table({ sight, names: film.players, match: film.match, goal: film.rules.match_goal, chances: frame.chances, viewer: viewer || 0 }),
        el("p", { class: "next", "aria-live": "polite" }, frame.action && may
          ? [`${asked}: `, Pocket.actionText(frame.action)]
          : frame.action ? `${asked} decides.` : Pocket.ending(sight, film.players)));
      const events = film.rounds[frame.round][viewer === null ? "all" : String(viewer)].slice(0, frame.events);
      const opinions = may ? Object.values(frame.opinions) : [];
      side.replaceChildren(
        viewer === null ? outlook(at) : "",
        opinions.length ? el("section", {}, el("h2", {}, `What they make of ${asked}’s decision`),
          opinions.map((found, i) => Pocket.opinion(found, film.players, frame.action, i < opinions.length - 1))) : "",
        el("h2", {}, "What happened"), Pocket.log(events.slice(-40), Infinity));
      const list = side.querySelector(".log");
      list.scrollTop = list.scrollHeight;
    }

    const keys = { ArrowLeft: () => go(at - 1), ArrowRight: () => go(at + 1), Home: () => go(0), End: () => go(last), " ": toggle, d: () => jump(1) };
    return (key) => { if (!keys[key]) return false; keys[key](); return true; };
  }

  /* How a round ended, in a sentence. */
  function ending(sight, names, you) {
    const result = sight.result;
    if (!result) return "The record ends here.";
    if (result.winner === null) return result.end === "blocked"
      ? "Nobody can play and there is nothing left to draw: the round is blocked."
      : "The round was cut short; nobody scores.";
    const points = result.points[result.winner];
    const first = result.winner === you;
    const who = first ? "You are" : `${names[result.winner]} is`;
    if (!points && result.points.some(Boolean)) return `${who} out; the others take the points they hold.`;
    return `${who} out and ${first ? "score" : "scores"} ${points} points.`;
  }

  Object.assign(Pocket, { replay, ending });
})(window.Pocket);
