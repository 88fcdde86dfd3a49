// Search and filters of the register of claims. Without this script all cards and rows are there.
// Words find claims as gapbook/claims/search.py says; a test holds both against each other.
(() => {
  "use strict";

  const weights = [8, 4, 2, 1];
  const stopWords = new Set(
    "a an and are as at by does faster for from in is it more of on or really slower than the to versus vs with".split(" "),
  );

  function tokens(text) {
    return (
      text
        .replace(/(\d)[,'’\u00a0\u2009\u202f](?=\d{3}(?!\d))/g, "$1")
        .normalize("NFKC")
        .toLowerCase()
        .replace(/[×✕]/g, "x")
        .replace(/α/g, "alpha")
        .replace(/(^|[^a-z0-9.])x ?(\d+(?:\.\d+)*)/g, "$1$2x ")
        .replace(/(\d) ?(?:x|times|-?fold)(?![a-z0-9])/g, "$1x ")
        .replace(/(\d) (%|[kmg]i?b|ms|s)(?![a-z0-9])/g, "$1$2")
        .match(/\d+(?:\.\d+)*[a-z%/]*|\p{L}[\p{L}\p{N}]*/gu) ?? []
    );
  }

  function asked(words) {
    const typed = tokens(
      words.replace(/(^|[^\d.])(\d{1,3}(?: \d{3})+)(?!\d)/g, (_, before, number) => before + number.replaceAll(" ", "")),
    );
    const telling = typed.filter((word) => !stopWords.has(word));
    return telling.length > 0 ? telling : typed;
  }

  // A word begins so; a number is meant whole, with any unit.
  function isMeant(word, token) {
    return token.startsWith(word) && !(/^\d/.test(word) && /[\d.]/.test(token[word.length] ?? ""));
  }

  function score(words, fields) {
    let total = 0;
    for (const word of words) {
      const best = weights.find((_, place) => fields[place].some((token) => isMeant(word, token)));
      if (!best) return 0;
      total += best;
    }
    return total || 1;
  }

  const text = (part) => part?.textContent ?? "";

  // What a cell says itself: words in it may lead to the glossary.
  function ownText(cell, ...others) {
    return [...cell.childNodes].filter((node) => !others.includes(node)).map(text).join("");
  }

  const slug = (label) => label.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

  // The systems that a claim names, or that its row says because it names none.
  function systemsOf(row, says, systems) {
    if (row.dataset.y !== undefined) return row.dataset.y.split(" ").filter(Boolean);
    return systems.filter((name) => {
      const stem = name.split(".")[0].replace(/[^\w]/g, "");
      return new RegExp(`(^|[^\\w-])${stem}(\\.\\w+)?(?![\\w-])`, "i").test(says);
    });
  }

  function claimOf(row, systems) {
    const [verdict, claim, published, ours] = row.cells;
    const source = claim.querySelector("small");
    const says = ownText(claim, source);
    const named = systemsOf(row, says, systems);
    const anchor = row.id.replace("claim-", "");
    // Published number; claim; source and systems; all else: as the weights are.
    const fields = [
      text(published),
      says,
      `${text(source)} ${anchor} ${named.join(" ")}`,
      `${text(verdict)} ${ownText(ours, ours.lastElementChild)}`,
    ].map(tokens);
    const choices = {
      source: [slug(text(source.querySelector("a")))],
      system: named.map(slug),
      verdict: [row.className.replace("gb-v-", "") || "undecided"],
      evidence: [row.dataset.e ?? "open"],
    };
    const own = document.createElement("a");
    own.href = `#${row.id}`;
    own.textContent = "link";
    source.append(" · ", own);
    return { row, fields, choices };
  }

  // #q=70x&verdict=refuted, or ?q=70x: any other hash is an anchor.
  function given() {
    const hash = location.hash.slice(1);
    return new URLSearchParams(/^(q|source|system|verdict|evidence)=/.test(hash) ? hash : hash ? "" : location.search);
  }

  function inOrder(parent, children) {
    if (children.some((child, place) => parent.children[place] !== child)) parent.append(...children);
  }

  function start(register) {
    const form = register.querySelector(".gb-filter");
    const search = register.querySelector(".gb-search");
    const selects = [...register.querySelectorAll("[data-filter]")];
    const showing = register.querySelector(".gb-showing");
    const body = register.querySelector("tbody");
    const list = register.querySelector(".gb-cards");
    const systems = [...register.querySelectorAll("[data-filter=system] option")].map((option) => option.dataset.name);
    const claims = [...body.rows].map((row) => claimOf(row, systems.filter(Boolean)));
    const byAnchor = new Map(claims.map((claim) => [claim.row.id, claim]));
    const cards = [...list.children];

    function show() {
      const words = asked(search.value);
      const scores = new Map();
      for (const { row, fields, choices } of claims) {
        const passes = selects.every(({ value, dataset }) => !value || choices[dataset.filter].includes(value));
        scores.set(row.id, passes ? score(words, fields) : 0);
      }
      const best = (one, other) => scores.get(other) - scores.get(one);
      for (const { row } of claims) row.hidden = scores.get(row.id) === 0;
      for (const card of cards) card.hidden = scores.get(card.dataset.claim) === 0;
      inOrder(body, claims.map(({ row }) => row).sort((one, other) => best(one.id, other.id)));
      inOrder(list, [...cards].sort((one, other) => best(one.dataset.claim, other.dataset.claim)));
      const found = claims.filter(({ row }) => !row.hidden).length;
      showing.textContent = found
        ? `Showing ${found} of ${claims.length} entries: published claims and our notes.`
        : `No claim has all of this. “Show all” leads back to all ${claims.length}.`;
    }

    function keep() {
      const state = new URLSearchParams();
      if (search.value.trim()) state.set("q", search.value.trim());
      for (const select of selects) if (select.value) state.set(select.dataset.filter, select.value);
      history.replaceState(null, "", String(state) ? `#${state}` : location.pathname);
    }

    // An unknown choice is none, and is said.
    function take(state) {
      search.value = state.get("q") ?? "";
      const unknown = [];
      for (const select of selects) {
        const value = state.get(select.dataset.filter) ?? "";
        const known = [...select.options].some((option) => option.value === value);
        select.value = known ? value : "";
        if (!known) unknown.push(`${select.dataset.filter}=${value}`);
      }
      show();
      if (unknown.length > 0) showing.textContent += ` There is no ${unknown.join(", ")}.`;
    }

    // A row that is searched away, or has the anchor of an older link, is shown where a link leads to it.
    function lead() {
      const anchor = decodeURIComponent(location.hash.slice(1));
      const target = byAnchor.get(anchor) ?? byAnchor.get(`claim-${anchor}`);
      if (!target) return;
      if (target.row.hidden) take(new URLSearchParams());
      if (target.row.id !== anchor) location.replace(`#${target.row.id}`);
      target.row.scrollIntoView({ behavior: "instant" });
    }

    search.addEventListener("input", () => {
      show();
      keep();
    });
    for (const select of selects) {
      select.addEventListener("change", () => {
        show();
        keep();
      });
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () =>
      setTimeout(() => {
        show();
        keep();
      }),
    );
    window.addEventListener("hashchange", () => {
      if ([...given().keys()].length > 0 || !location.hash) take(given());
      lead();
    });
    form.hidden = false;
    take(given());
    lead();
  }

  // It stands in the head, and the register is not there yet.
  const startAll = () => document.querySelectorAll(".gb-register").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
  else startAll();
})();
