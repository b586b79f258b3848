/* The table one plays at. It shows what the server says and sends what is clicked; it knows no rules. */
"use strict";
(function (Pocket) {
  const { el, COLORS, colorArt, cardArt, spoken } = Pocket;
  const BUTTONS = { // action: text, key, more classes
    draw: ["Draw a card", "d"], keep: ["Keep it", "k"], challenge: ["Challenge!", "c"], accept: ["Accept", "a"],
    "say uno": ["UNO!", "u", "uno"], "stay silent": ["Stay silent", "s"], catch: ["Catch!", "c", "uno"],
    "let go": ["Let it go", "l"], "jump in": ["Jump in!", "j"], pass: ["Pass", "p"],
  };

  /* send(message) talks to the server; panel is {open, agent}, which outlives a table. */
  function playRoom(root, welcome, send, panel) {
    let state = null, analysis = null, refused = "", choosing = null, invite = [], waiting = false;
    const yours = () => state.sight.seat !== null && state.sight.to_act === state.sight.seat;
    const watching = () => state.sight.seat === null;
    const mayAnalyse = () => state.sight.to_act !== null && (yours() || watching());
    const legal = () => (yours() ? state.sight.legal : []);
    return { show, invited, key, analysed, failed, rules: () => state && state.rules };

    function invited(others) { invite = others; }

    /* What was asked for cannot be: the panel says why there is no analysis. */
    function failed(message) {
      waiting = false;
      if (message.do === "analyse") { analysis = null; refused = message.error; }
      render();
    }

    function show(next) {
      const fresh = !state || state.turn !== next.turn;
      const before = state;
      state = next;
      if (fresh) { choosing = null; analysis = null; refused = ""; waiting = false; }
      if (next.trouble) waiting = false;
      render();
      if (fresh && before && before.sight.top !== next.sight.top) pop();
      if (fresh && panel.open && mayAnalyse()) ask();
      if (fresh && yours()) document.title = "● Your turn · Pocket"; else document.title = "Pocket";
    }

    function analysed(found) { if (found.turn === state.turn && found.agent === panel.agent) { analysis = found; render(); } }

    function names() {
      return state.players.map((player, i) => i === state.sight.seat ? "You" : player.name);
    }

    function act(action) {
      if (waiting) return;
      waiting = true;
      choosing = null;
      send({ do: "act", turn: state.turn, action });
      render();
    }

    function ask() {
      analysis = null;
      refused = "";
      send({ do: "analyse", turn: state.turn, agent: panel.agent });
    }

    /* What clicking a card of the hand does: the actions that name it. */
    function actionsOf(card) {
      return legal().filter((action) => {
        const named = /^(?:play|give) ([^:]+)/.exec(action);
        return named && named[1] === card;
      });
    }

    function handCard(card, i) {
      const actions = waiting ? [] : actionsOf(card);
      const drawn = state.sight.drawn === card;
      const give = actions.length && actions[0].startsWith("give");
      const what = actions.length ? `${give ? "give" : "play"} ${spoken(card)}` : `${spoken(card)}, not now`;
      return el("button", {
        type: "button", class: "card" + (actions.length ? " legal" : "") + (drawn ? " drawn" : "") + (choosing === card ? " chosen" : ""),
        "data-key": `card-${i}`, "data-card": card, "aria-label": what, "aria-disabled": actions.length ? null : "true",
        onclick: () => { if (actions.length === 1) act(actions[0]); else if (actions.length) choose(card); },
      }, cardArt(card, true));
    }

    function choose(card) {
      choosing = choosing === card ? null : card;
      render();
      const first = root.querySelector(".chooser button");
      if (first) first.focus();
    }

    function render() {
      if (!state) return;
      const focus = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
      const { sight } = state;
      const board = Pocket.table({
        sight, names: names(), match: state.match, goal: state.rules.match_goal, chances: state.chances,
        viewer: sight.seat ?? 0, hand: sight.seat === null ? null : handCard,
        pile: (inner) => {
          const can = legal().includes("draw") && !waiting;
          return el("button", {
            type: "button", class: "pile" + (can ? " legal" : ""), "data-key": "pile", "aria-disabled": can ? null : "true",
            "aria-label": `draw pile, ${sight.draw_pile} cards` + (can ? ": draw" : ""), onclick: () => { if (can) act("draw"); },
          }, inner);
        },
      });
      root.replaceChildren(el("div", { class: "play", "data-moment": `${state.turn} ${choosing || ""}` },
        el("div", { class: "stage" }, board, prompt(), invites()),
        el("aside", { class: "side" }, head(), panel.open ? advisor() : null,
          el("h2", {}, "What happened"), Pocket.log(state.events, state.since))));
      const list = root.querySelector(".log");
      list.scrollTop = list.scrollHeight;
      if (focus) {
        const again = root.querySelector(`[data-key="${focus}"]`);
        if (again) again.focus({ preventScroll: true });
      }
    }

    function head() {
      const round = state.match ? `Round ${state.round + 1}` : "A single round";
      return el("div", { class: "head" },
        el("span", {}, `${round} · ${state.rules.name}`),
        el("button", { type: "button", "data-key": "analysis", "aria-pressed": String(panel.open), title: "i", onclick: toggle }, "Analysis"),
        el("button", { type: "button", "data-key": "record", title: "the finished rounds; all of it at the end", onclick: () => send({ do: "record" }) }, "Record"));
    }

    function toggle() {
      panel.open = !panel.open;
      render();
      if (panel.open && mayAnalyse() && !analysis) ask();
    }

    function advisor() {
      const agents = Pocket.playing(welcome, state.rules.name, state.players.length);
      if (!agents.includes(panel.agent)) panel.agent = agents[0];
      const select = el("select", { id: "analyst", "data-key": "analyst", "aria-label": "who advises", onchange: () => { panel.agent = select.value; if (mayAnalyse()) ask(); render(); } },
        agents.map((name) => Pocket.option(name, name, panel.agent)));
      return el("section", { class: "analysis", "aria-live": "polite" },
        el("h2", {}, "Analysis by ", select),
        analysis ? Pocket.opinion(analysis, names(), null)
          : refused ? el("p", { class: "error" }, refused)
          : el("p", { class: "quiet" }, mayAnalyse() ? "Thinking…" : "It shows when it is your turn, and knows no more than you."));
    }

    /* What is asked, what happened since, and the buttons. */
    function prompt() {
      const recent = state.events.slice(state.since);
      const news = el("div", { class: "news", "aria-live": "polite" },
        recent.slice(-6).map((event) => el("p", {}, Pocket.withCards(event.text))));
      if (state.sight.result) return el("div", { class: "prompt done" }, news, finish());
      if (state.trouble) return el("div", { class: "prompt" }, news, trouble());
      const buttons = yours() ? el("div", { class: "actions" }, choosing ? chooser() : actionButtons()) : pacer();
      return el("div", { class: "prompt" + (yours() ? " yours" : "") }, news,
        el("p", { class: "question", "aria-live": "polite" }, question()), buttons);
    }

    function question() {
      const { sight } = state, all = names();
      const other = sight.actor === null ? "" : all[sight.actor];
      if (!yours()) return `${all[sight.to_act]} ${watching() ? "decides" : "is thinking"}…`;
      if (waiting) return "…";
      if (choosing) return `Which colour for the ${spoken(choosing)}?`;
      const cards = sight.top === "W+4" ? 4 : 2;
      const words = { actor: other, top: spoken(sight.top), drawn: sight.drawn ? spoken(sight.drawn) : "a card", cards, more: cards + 2 };
      const must = sight.phase === "play" && sight.legal.length === 1;
      return welcome.prompts[must ? "must draw" : sight.phase].replace(/\{(\w+)\}/g, (_, word) => words[word]);
    }

    function chooser() {
      const actions = actionsOf(choosing);
      return el("div", { class: "chooser", role: "group", "aria-label": "colours" },
        actions.map((action) => colorButton(action.at(-1), () => act(action))),
        el("button", { type: "button", class: "quiet", onclick: () => choose(choosing) }, "Back"));
    }

    function colorButton(color, go) {
      return el("button", { type: "button", class: `color color-${color}`, "data-key": `color-${color}`, title: color.toLowerCase(), onclick: go },
        colorArt(color), COLORS[color]);
    }

    function actionButtons() {
      return legal().filter((action) => !/^(play|give) /.test(action)).map((action) => {
        if (action.startsWith("name ")) return colorButton(action.at(-1), () => act(action));
        const swap = /^swap (\d+)$/.exec(action);
        const [text, key, more] = swap ? [`Swap with ${names()[swap[1]]}`, swap[1], ""] : BUTTONS[action] || [action, "", ""];
        return el("button", { type: "button", class: `action ${more || ""}`, "data-key": `do-${action}`, disabled: waiting, onclick: () => act(action) },
          text, key ? el("kbd", {}, key) : null);
      });
    }

    /* The agent to act has failed: ask it again, or leave it at that. */
    function trouble() {
      return [el("p", { class: "error", role: "alert" }, state.trouble),
        el("p", { class: "question" }, `${names()[state.sight.to_act]} cannot decide, so the game stands still.`),
        el("div", { class: "actions" },
          el("button", { type: "button", class: "action", "data-key": "step", onclick: step, disabled: waiting }, waiting ? "…" : "Ask it again", el("kbd", {}, "n")),
          el("a", { class: "action", href: "#play" }, "New game"))];
    }

    function step() {
      waiting = true;
      send({ do: "step", turn: state.turn });
      render();
    }

    /* Speed, and single steps, while agents play. */
    function pacer() {
      const agentTurn = state.sight.to_act !== null && !state.players[state.sight.to_act].person;
      if (!agentTurn) return null;
      if (state.pace === null) {
        return el("div", { class: "actions" },
          el("button", { type: "button", class: "action", "data-key": "step", onclick: step }, "Step", el("kbd", {}, "n")),
          el("button", { type: "button", "data-key": "pace", onclick: () => send({ do: "pace", pace: 800 }) }, "Play on"));
      }
      return watching() ? el("div", { class: "actions" },
        el("button", { type: "button", "data-key": "pace", onclick: () => send({ do: "pace", pace: null }) }, "Pause")) : null;
    }

    function finish() {
      const all = names(), seat = state.sight.seat;
      const lines = [el("p", { class: "question" }, Pocket.ending(state.sight, all, seat))];
      if (state.winner !== null) {
        lines.push(el("p", { class: "won" }, state.winner === seat ? "You win the match!" : `${all[state.winner]} wins the match.`));
      }
      const next = state.over ? null : el("button", { type: "button", class: "action go", "data-key": "next", onclick: onward }, "Next round", el("kbd", {}, "n"));
      return [lines, el("div", { class: "actions" }, next,
        state.over ? el("a", { class: "action go", href: "#play" }, "New game") : null,
        el("button", { type: "button", "data-key": "film", onclick: () => { Pocket.wantFilm = true; send({ do: "record" }); } }, "Watch the replay"))];
    }

    function onward() { send({ do: "next", turn: state.turn }); }

    function invites() {
      if (!invite.length) return null;
      return el("section", { class: "invites" }, el("h2", {}, "Links for the others"),
        invite.map(({ seat, token }) => el("p", {}, `Seat ${seat + 1}: `,
          el("code", {}, `${location.origin}/#t=${token}`))));
    }

    function pop() {
      const card = root.querySelector(".discard");
      if (card) { card.classList.remove("pop"); void card.offsetWidth; card.classList.add("pop"); }
    }

    /* Keys: letters of the buttons, arrows between cards, r b g y for colours. */
    function key(pressed) {
      if (!state) return false;
      const low = pressed.toLowerCase();
      if (low === "i") { toggle(); return true; }
      if (pressed === "Escape" && choosing) { choose(choosing); return true; }
      if (low === "n" && state.sight.result && !state.over) { onward(); return true; }
      if (low === "n" && (state.pace === null || state.trouble)) { const button = root.querySelector('[data-key="step"]'); if (button) button.click(); return !!button; }
      const color = root.querySelector(`[data-key="color-${pressed.toUpperCase()}"]`);
      if (/^[rbgy]$/i.test(pressed) && color) { color.click(); return true; }
      if (pressed === "ArrowLeft" || pressed === "ArrowRight") { walk(pressed === "ArrowLeft" ? -1 : 1); return true; }
      if (waiting || choosing) return false;
      const action = legal().find((name) => (BUTTONS[name] || [])[1] === low || name === `swap ${pressed}`);
      if (action) act(action);
      return !!action;
    }

    function walk(step) {
      const cards = [...root.querySelectorAll(".hand button.card")];
      const legalCards = cards.filter((card) => card.classList.contains("legal"));
      const among = legalCards.length ? legalCards : cards;
      const i = among.indexOf(document.activeElement);
      const next = among[(i + step + among.length) % among.length] || among[0];
      if (next) next.focus();
    }
  }

  Object.assign(Pocket, { playRoom });
})(window.Pocket);
