// Copy buttons and the re-run command. Without this script every panel still shows its text.
(() => {
  "use strict";

  // Until a reader chooses, the theme follows the system: said before the first paint, for no flash.
  const root = document.documentElement.dataset;
  root.mode ||= "auto";
  root.theme ||= window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

  const plain = /^[\w@%+=:,./-]+$/;

  // As shlex.quote in Python: the command can be pasted into a shell as it stands.
  function quote(word) {
    return plain.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
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
    setTimeout(() => (button.textContent = "copy"), 2000);
  }

  function rewrite(panel) {
    const code = panel.querySelector(".gb-command");
    const values = new Map(
      [...panel.querySelectorAll("[data-input]")].map((input) => [input.dataset.input, input.value]),
    );
    const words = JSON.parse(code.dataset.template).map((word) =>
      quote(word.replace(/\{(\w+)\}/g, (_, name) => values.get(name))),
    );
    code.textContent = words.join(" ");
  }

  function start() {
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
    document.addEventListener("DOMContentLoaded", start);
  } else {
    start();
  }
})();
