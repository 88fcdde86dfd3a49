// Copy buttons, the re-run command, search. Without this script all text is still there.
(() => {
  "use strict";

  const plain = /^[\w@%+=:,./-]+$/;

  // As shlex.quote in Python: the command can be pasted into a shell as it stands.
  function quote(word) {
    return plain.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
  }

  // What changed on the page, for those who hear it.
  function say(words) {
    let status = document.querySelector(".gb-said");
    if (!status) {
      status = document.createElement("p");
      status.className = "gb-said visually-hidden";
      status.setAttribute("role", "status");
      document.querySelector("main").append(status);
    }
    status.textContent = words;
  }

  function shown(panel) {
    return [...panel.querySelectorAll(".gb-code")].find((code) => code.offsetParent !== null);
  }

  function select(code) {
    const range = document.createRange();
    range.selectNodeContents(code);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }

  // A citation holds the place of its number in the book; on the web that becomes an address.
  function writeAddresses() {
    if (!location.protocol.startsWith("http")) return;
    for (const own of document.querySelectorAll(".gb-address")) {
      const place = own.getAttribute("href").replace("../", "");
      for (const code of own.closest(".gb-panel").querySelectorAll(".gb-code")) {
        if (!code.textContent.includes(`/${place}`)) code.textContent = code.textContent.replaceAll(place, own.href);
      }
    }
  }

  // Pages opened from a file or over plain HTTP have no clipboard: the text is then left selected.
  async function copy(button) {
    const code = shown(button.closest(".gb-panel"));
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      select(code);
      button.textContent = "press Ctrl+C";
    }
    say(button.textContent);
    setTimeout(() => (button.textContent = "copy"), 2000);
  }

  const numbers = {
    true: /^(0|-?[1-9]\d*)$/,
    false: /^-?(0|[1-9]\d*)(\.\d+)?(e-?\d+)?$/,
  };

  // As the command line: numbers plainly written, in their range, several only where several are taken.
  function isAllowed(input) {
    const { low, high, whole, several } = input.dataset;
    if (low === undefined) return true;
    const parts = several === "true" ? input.value.split(",").map((part) => part.trim()) : [input.value];
    return parts.every(
      (part) => numbers[whole].test(part) && Number(part) >= Number(low) && Number(part) <= Number(high),
    );
  }

  // A command with a value that would be refused is not offered: the last good one stays.
  function rewrite(panel) {
    const code = panel.querySelector(".gb-command");
    const refused = [...panel.querySelectorAll("[data-input]")].filter((input) => !isAllowed(input));
    for (const input of panel.querySelectorAll("[data-input]")) {
      input.setAttribute("aria-invalid", String(refused.includes(input)));
    }
    panel.querySelector(".gb-invalid").textContent = refused
      .map((input) => `${input.dataset.input}: ${input.value} is not allowed; allowed: ${input.dataset.allowed}`)
      .join(". ");
    panel.querySelector(".gb-copy").disabled = refused.length > 0;
    if (refused.length > 0) return;
    const given = [...panel.querySelectorAll("[data-input]")].flatMap((input) => [
      "-p",
      `${input.dataset.input}=${input.value}`,
    ]);
    code.textContent = [...JSON.parse(code.dataset.command), ...given].map(quote).join(" ");
  }

  // A table that is wider than its page is scrolled by keyboard too, and has the name of its caption or section.
  function makeScrollable(table, number) {
    const scrolls = table.scrollWidth > table.clientWidth;
    if (!scrolls) {
      for (const name of ["tabindex", "role", "aria-label"]) table.removeAttribute(name);
      return;
    }
    const name = table.querySelector("caption") ?? table.closest("section")?.querySelector("h1, h2, h3");
    table.tabIndex = 0;
    table.setAttribute("role", "region");
    table.setAttribute("aria-label", `Table ${number}: ${(name?.firstChild ?? table).textContent.trim().slice(0, 80)}`);
  }

  function makeTablesScrollable() {
    const tables = [...document.querySelectorAll(".gb-table, .pst-scrollable-table-container")];
    const observer = new ResizeObserver((seen) =>
      seen.forEach(({ target }) => makeScrollable(target, tables.indexOf(target) + 1)),
    );
    for (const table of tables) observer.observe(table);
  }

  // The theme leaves its sidebar out of the landmarks, and buttons in it without a name.
  function nameSidebar() {
    const sidebar = document.querySelector("#pst-primary-sidebar");
    sidebar?.setAttribute("role", "region");
    sidebar?.setAttribute("aria-label", "Book");
    for (const toggle of document.querySelectorAll(".bd-links summary")) {
      toggle.setAttribute("aria-label", `Pages below ${toggle.closest("li").querySelector("a").textContent.trim()}`);
    }
  }

  // The theme's own buttons let go of the focus; who goes by keyboard would begin at the top again.
  function keepFocus(event) {
    const button = event.target.closest("button");
    setTimeout(() => {
      if (button && document.activeElement === document.body) button.focus({ preventScroll: true });
    });
  }

  // On paper nothing is folded, not in browsers either that know no style for it, and it is dark on white whatever the
  // screen has.
  function printWhole() {
    const theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    const folded = [...document.querySelectorAll("details:not([open])")];
    for (const fold of folded) fold.open = true;
    const asBefore = () => {
      document.documentElement.dataset.theme = theme;
      for (const fold of folded) fold.open = false;
    };
    window.addEventListener("afterprint", asBefore, { once: true });
  }

  // Sphinx's search drops numbers, which is what many come for; its excerpts quote forms and glue the cells of tables,
  // and a page opened from a file may not fetch them at all.
  function mendSearch() {
    if (typeof Search === "undefined") return;
    const parse = Search._parseQuery;
    Search._parseQuery = (query) => {
      const found = parse(query);
      for (const word of splitQuery(query).filter((word) => /^\d+$/.test(word))) {
        found[1].add(word);
        found[3].add(word);
      }
      return found;
    };
    const toText = Search.htmlToText;
    Search.htmlToText = (html, anchor) =>
      toText(
        html
          .replace(/<(svg|details|noscript)\b[^]*?<\/\1>/g, " ")
          .replace(/<div[^>]*\bgb-(?:rerun|cite|buttons)\b[^]*?<\/div>/g, " ")
          .replace(/<\/(?:td|th|p|h\d|li)>/g, " $&"),
        anchor,
      );
    if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  // Who searches for a headline wants the claim, and the search of all pages does not know which page that is.
  function offerClaims() {
    const results = document.getElementById("search-results");
    const words = new URLSearchParams(location.search).get("q");
    if (!results || !words) return;
    const offer = document.createElement("p"), link = document.createElement("a");
    link.href = `notebooks/claims.html?q=${encodeURIComponent(words)}`;
    link.textContent = `Look up “${words}” among published claims`;
    offer.append(link);
    results.before(offer);
  }

  function start() {
    for (const link of document.querySelectorAll(".dropdown-download-buttons a")) link.download = "";
    for (const showing of document.querySelectorAll(".gb-showing")) showing.setAttribute("role", "status");
    makeTablesScrollable();
    nameSidebar();
    offerClaims();
    window.addEventListener("beforeprint", printWhole);
    document.addEventListener("click", keepFocus, true);
    writeAddresses();
    for (const button of document.querySelectorAll(".gb-copy")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
    for (const panel of document.querySelectorAll(".gb-rerun")) {
      panel.addEventListener("input", () => rewrite(panel));
      rewrite(panel);
    }
  }

  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", mendSearch);
    document.addEventListener("DOMContentLoaded", start);
  } else {
    start();
  }
})();
