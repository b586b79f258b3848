/* The page: one connection to the server, and which room is shown. */
"use strict";
(function (Pocket) {
  const { el } = Pocket;
  const main = document.getElementById("main"), status = document.getElementById("status"), toast = document.getElementById("toast");
  const panel = { open: false, agent: "strong" };
  let socket = null, welcome = null, room = null, token = null, tries = 0, filmKey = null, invite = [];

  connect();
  document.getElementById("help").addEventListener("click", openHelp);
  window.addEventListener("hashchange", enter);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input, textarea")) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "?") { openHelp(); return; }
    const done = filmKey ? filmKey(event.key) : room ? room.key(event.key) : false;
    if (done) event.preventDefault();
  });

  function openHelp() {
    if (welcome) Pocket.help(room && room.rules() ? room.rules() : welcome.rules.find((rules) => rules.name === Pocket.chosenRules()));
  }

  function connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/ws`);
    socket.onopen = () => { tries = 0; };
    socket.onmessage = (event) => hear(JSON.parse(event.data));
    socket.onclose = () => {
      status.textContent = "connection lost, trying again…";
      setTimeout(connect, Math.min(300 * 2 ** tries++, 5000));
    };
  }

  function send(message) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    else say("There is no connection to the server.");
  }

  function hear(message) {
    if (message.type === "welcome") {
      const again = welcome !== null;
      welcome = message;
      status.textContent = "";
      if (!welcome.agents.some((agent) => agent.name === panel.agent)) panel.agent = welcome.agents[0].name;
      if (again && room) room.failed({}); // what was sent last may not have arrived
      if (again && token) send({ do: "sit", token }); else if (!again) enter();
    } else if (message.type === "seated") {
      token = message.token;
      invite = message.invite;
      location.hash = `t=${token}`;
    } else if (message.type === "state") {
      if (message.token !== token) return;
      if (!room) { room = Pocket.playRoom(main, welcome, send, panel); room.invited(invite); }
      room.show(message);
    } else if (message.type === "analysis") {
      if (room) room.analysed(message);
    } else if (message.type === "record") {
      keep(message.record);
    } else if (message.type === "error") {
      if (!room || message.do !== "analyse") say(message.error); // the panel says why there is no analysis
      if (message.do === "sit") { token = null; location.hash = "play"; }
      if (room) room.failed(message);
    }
  }

  function enter() {
    const hash = location.hash.slice(1) || "play";
    const sits = /^t=(.+)$/.exec(hash);
    filmKey = null;
    document.querySelectorAll("[data-room]").forEach((link) =>
      link.setAttribute("aria-current", String(link.dataset.room === (sits ? "play" : hash))));
    if (!welcome) return;
    if (sits) {
      if (sits[1] !== token || !room) {
        if (sits[1] !== token) invite = [];
        token = sits[1];
        room = null;
        send({ do: "sit", token });
      }
      return;
    }
    token = null;
    room = null;
    if (hash === "replay") replayRoom();
    else if (hash === "advise") Pocket.advise(main, welcome);
    else Pocket.lobby(main, welcome, send);
  }

  function say(text) {
    toast.textContent = text;
    toast.classList.add("shown");
    clearTimeout(say.timer);
    say.timer = setTimeout(() => toast.classList.remove("shown"), 6000);
  }

  /* A record that was asked for: to a file, or to the replay. */
  function keep(record) {
    const text = JSON.stringify(record) + "\n";
    if (Pocket.wantFilm) { Pocket.wantFilm = false; Pocket.records = { text, name: "this game" }; location.hash = "replay"; }
    else save(text, "game.jsonl", "application/x-ndjson");
  }

  function save(text, name, type) {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function post(path, body, asText) {
    try {
      const answer = await fetch(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
      if (answer.ok) return asText ? { text: await answer.text() } : await answer.json();
      return answer.headers.get("Content-Type").includes("json") ? await answer.json() : { error: await answer.text() };
    } catch (error) {
      return { error: `The server did not answer: ${error.message}` };
    }
  }

  function replayRoom() {
    const asked = { game: 1, agents: ["strong", ""] };
    const stage = el("div", {});
    const file = el("input", { type: "file", id: "records", accept: ".jsonl,.json", onchange: async () => {
      if (file.files[0]) { Pocket.records = { text: await file.files[0].text(), name: file.files[0].name }; asked.game = 1; load(); }
    } });
    const game = el("input", { type: "number", id: "game", min: 1, value: 1, onchange: () => { asked.game = Number(game.value); load(); } });
    const agents = asked.agents.map((chosen, i) => el("select", { id: `watcher-${i}`, "aria-label": `agent ${i + 1}`, onchange: (e) => { asked.agents[i] = e.target.value; load(); } },
      Pocket.option("", "nobody", chosen), welcome.agents.map((agent) => Pocket.option(agent.name, agent.name, chosen))));
    main.replaceChildren(el("div", { class: "replay-room" },
      el("form", { class: "bar", onsubmit: (e) => e.preventDefault() },
        Pocket.field("Records (.jsonl)", file), Pocket.field("Game", game), Pocket.field("Ask", el("span", {}, agents))), stage));
    if (Pocket.records) load();
    else stage.append(el("p", { class: "quiet hint" }, "Open a file of game records: evaluate.py writes them with --records, and every game that is played here can be kept."));

    async function load() {
      if (!Pocket.records) return;
      const body = { records: Pocket.records.text, game: asked.game, agents: [...new Set(asked.agents.filter(Boolean))] };
      stage.replaceChildren(el("p", { class: "quiet hint" }, "Reading, and asking the agents…"));
      filmKey = null;
      const film = await post("/replay", body);
      if (film.error) { stage.replaceChildren(el("p", { class: "error hint", role: "alert" }, film.error)); return; }
      game.max = film.games;
      const share = el("button", { type: "button", title: "one file that shows this game anywhere", onclick: async () => {
        const page = await post("/replay.html", body, true);
        if (page.error) say(page.error); else save(page.text, "game.html", "text/html");
      } }, "Save as one file");
      filmKey = Pocket.replay(stage, film, share);
    }
  }

  Object.assign(Pocket, { post });
})(window.Pocket);
