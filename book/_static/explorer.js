// Two sides set by the reader: what was measured of them, from the cells that the page holds. Its table needs no script.
(() => {
  "use strict";

  // --- numbers, as gapbook/method/interval.py prints them and gapbook/method/estimate.py computes them -------------
  function grouped(whole) {
    return String(whole).replace(/\B(?=(\d{3})+$)/g, ",");
  }

  // Ties go to the even digit, as in Python.
  function roundedTo(value, unit) {
    const quotient = value / unit;
    const below = Math.floor(quotient);
    const up = quotient - below === 0.5 ? below % 2 === 1 : quotient - below > 0.5;
    return (below + (up ? 1 : 0)) * unit;
  }

  function factor(value) {
    const magnitude = Math.floor(Math.log10(value));
    if (magnitude <= 2) return value.toFixed(Math.min(2 - magnitude, 4));
    const whole = roundedTo(value, 10 ** (magnitude - 2));
    return magnitude > 3 ? grouped(whole) : String(whole);
  }

  function count(value) {
    if (value === 0) return "0";
    const magnitude = Math.floor(Math.log10(value));
    if (value < 100) return value.toFixed(Math.max(0, 2 - magnitude));
    return grouped(roundedTo(value, 10 ** Math.max(0, magnitude - 2)));
  }

  // A geometric mean over blocks with its t interval; of one block, no interval.
  function interval(values, quantiles) {
    const logs = values.map(Math.log);
    const n = logs.length;
    const mean = logs.reduce((sum, one) => sum + one, 0) / n;
    if (n === 1) return { estimate: Math.exp(mean), low: NaN, high: NaN, n };
    const spread = Math.sqrt(logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1));
    const half = (quantiles[n - 2] * spread) / Math.sqrt(n);
    return { estimate: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half), n };
  }

  function bounds(value, print) {
    return Number.isNaN(value.low) ? "" : ` [${print(value.low)}–${print(value.high)}]`;
  }

  const asFactor = (value) => `×${factor(value.estimate)}${bounds(value, factor)}`;
  const asTimes = (value) => `${factor(value.estimate)} times${bounds(value, factor)}`;
  const asRate = (value) => `${count(value.estimate)}${bounds(value, count)}/s`;

  // --- what the page holds ------------------------------------------------------------------------------------------
  const SIDES = ["A", "B"];
  const MOST_OFFERS = 3;
  const IN_FULL = ["client", "disk"]; // has fewer words in a citation alone

  // Chapters that were measured together hold the same trials.
  function firstOfMeasurement({ loaded }, place, all) {
    return all.findIndex((other) => other.loaded.run.measured === loaded.run.measured) === place;
  }

  class Cells {
    constructor(content) {
      Object.assign(this, content);
      this.places = this.choices.map(({ name }) => name);
      this.indexOfSide = new Map(this.sides.map((side, index) => [side.join(), index]));
      this.loaded = this.runs.flatMap((run) =>
        run.at.map(([treatment, exponent, load, cells]) => ({
          run,
          treatment,
          exponent,
          load,
          bySide: new Map(
            cells.map(([contestant, jams, label, ...counts]) => {
              const [name, side, window] = run.contestants[contestant];
              const rates = counts.map((one) => one / window);
              return [side, { name, window, rates, jams: jams === 1, label: this.labels[label] }];
            }),
          ),
        })),
      );
    }

    words(place, index) {
      return this.choices[place].values[index][1];
    }

    short(place, index) {
      return this.choices[place].values[index].at(-1);
    }

    // "Postgres 18.6, Rust client, stored procedure, 64 in flight, waits for the disk"
    listed(side) {
      const texts = side.map((index, place) => (IN_FULL.includes(this.places[place]) ? this.words : this.short).call(this, place, index));
      return texts.filter(Boolean).join(", ");
    }

    // The same in as few words as a citation has room for.
    named(side, isWanted = () => true) {
      const words = side.map((index, place) => (isWanted(place) ? this.short(place, index) : ""));
      return words.filter(Boolean).join(", ");
    }

    at(state) {
      return this.loaded.filter(({ exponent, load }) => exponent === state.exponent && load === state.load);
    }

    rate(cell) {
      return interval(cell.rates.filter((one) => one > 0), this.t);
    }

    // Paired by block, the faster one over the slower one.
    ratio(one, other) {
      const paired = one.rates.map((rate, block) => [rate, other.rates[block] ?? 0]);
      const ratios = paired.filter(([over, under]) => over > 0 && under > 0).map(([over, under]) => over / under);
      return ratios.length ? interval(ratios, this.t) : null;
    }

    tells({ low, high, n }) {
      return n >= this.fewest && high <= this.widest * low;
    }

    // Every run that holds both sides, the newest first.
    held(state) {
      const [left, right] = state.sides.map((side) => this.indexOfSide.get(side.join()));
      return this.at(state)
        .map((loaded) => ({ loaded, cells: [loaded.bySide.get(left), loaded.bySide.get(right)] }))
        .filter(({ cells }) => cells.every(Boolean))
        .map((held) => ({ ...held, ratio: this.ratio(...held.cells) }))
        .filter(({ ratio }) => ratio)
        .filter(firstOfMeasurement);
    }

    // Each run's rate of one side, where the two are in no run together.
    alone(state, which) {
      const side = this.indexOfSide.get(state.sides[which].join());
      return this.at(state)
        .filter(({ bySide }) => bySide.has(side))
        .map((loaded) => ({ loaded, cell: loaded.bySide.get(side) }))
        .filter(firstOfMeasurement);
    }

    differences(from, to) {
      const found = [];
      SIDES.forEach((letter, which) =>
        this.places.forEach((_, place) => {
          const [was, is] = [from.sides[which][place], to.sides[which][place]];
          if (was === is) return;
          const label = this.choices[place].label.toLowerCase();
          found.push(`side ${letter}, ${label}: ${this.words(place, is)} instead of ${this.words(place, was)}`);
        }),
      );
      if (from.exponent !== to.exponent)
        found.push(`${this.alpha(to)} instead of ${this.exponents[from.exponent]}`);
      if (from.load !== to.load)
        found.push(`${this.loads[to.load][1]} instead of ${this.loads[from.load][1]}`);
      return found;
    }

    alpha(state) {
      return `α = ${this.exponents[state.exponent]}`;
    }

    share(state) {
      return this.shares[state.load][state.exponent];
    }

    // The measured pairs that differ in the fewest choices; of equally near ones those that keep the systems, then
    // the newest.
    nearest(state) {
      const found = [];
      for (const { exponent, load, bySide } of this.loaded) {
        const beside = Number(exponent !== state.exponent) + Number(load !== state.load);
        const away = [...bySide].map(([side, cell]) => ({
          side: this.sides[side],
          cell,
          from: state.sides.map((wanted) => this.sides[side].filter((one, place) => one !== wanted[place]).length),
          other: state.sides.map((wanted) => Number(this.sides[side][0] !== wanted[0])),
        }));
        for (const left of away)
          for (const right of away) {
            if (left === right) continue;
            const distance = left.from[0] + right.from[1] + beside;
            const moved = left.other[0] + right.other[1];
            const together = [left.cell, right.cell];
            found.push({ distance, moved, together, to: { sides: [left.side, right.side], exponent, load } });
          }
      }
      // Who asks about two systems is told of these two, as long as they were measured together at all.
      found.sort((one, other) => one.moved - other.moved || one.distance - other.distance);
      const offers = new Map();
      for (const { together, to } of found) {
        if (offers.size === MOST_OFFERS) break;
        if (this.ratio(...together)) offers.set(this.address(to), to);
      }
      return [...offers.values()];
    }

    // --- state and address ----------------------------------------------------------------------------------------
    first() {
      const [left, right, exponent, load] = this.start;
      return { sides: [this.sides[left], this.sides[right]], exponent, load };
    }

    address({ sides, exponent, load }) {
      const names = sides.map((side) =>
        side
          .map((index, place) => this.choices[place].values[index][0])
          .join("_")
          .replace(/_$/, ""),
      );
      return `a=${names[0]}&b=${names[1]}&alpha=${this.exponents[exponent]}&load=${this.loads[load][0]}`;
    }

    // What an address asks for, and what of it is not here; null for an address of something else.
    read(hash) {
      const given = new URLSearchParams(hash.replace(/^[#?]/, ""));
      if (!given.has("a") && !given.has("b")) return null;
      const state = this.first();
      const unknown = [];
      const find = (names, name) => {
        const index = names.indexOf(name);
        if (index < 0) unknown.push(name.slice(0, 40));
        return index < 0 ? nearestName(names, name) : index;
      };
      ["a", "b"].forEach((key, which) => {
        if (!given.has(key)) return;
        const names = given.get(key).split("_");
        state.sides[which] = this.choices.map(({ values }, place) =>
          find(values.map(([name]) => name), names[place] ?? (place === this.choices.length - 1 ? "" : "?")),
        );
      });
      if (given.has("alpha")) state.exponent = find(this.exponents.map(String), given.get("alpha"));
      if (given.has("load")) state.load = find(this.loads.map(([name]) => name), given.get("load"));
      return { state, unknown };
    }

    // --- what is said -----------------------------------------------------------------------------------------------
    system(state, which) {
      const [left, right] = state.sides.map((side) => this.words(0, side[0]));
      return left === right ? `side ${SIDES[which]}` : `${this.words(0, state.sides[which][0])} (side ${SIDES[which]})`;
    }

    // The sentence that is said of one run, and whether its ratio may be cited.
    said(state, { cells, ratio, loaded }) {
      const stuck = SIDES.map((_, which) => which).filter((which) => cells[which].jams);
      if (stuck.length) {
        const load = loaded.run.warmup + cells[stuck[0]].window;
        const who = stuck.map((which) => this.system(state, which)).join(" and ");
        return {
          text: `No ratio: ${who} all but stood still. Fewer requests were answered in the ${load} s of a trial than were sent at once.`,
          short: "jams",
        };
      }
      const faster = ratio.estimate >= 1 ? 0 : 1;
      const told = faster === 0 ? ratio : this.ratio(cells[1], cells[0]);
      const [fast, slow] = [this.system(state, faster), this.system(state, 1 - faster)];
      const short = `${asFactor(told)}, ${fast} ÷ ${slow}`;
      if (!this.tells(told)) {
        const blocks = `${told.n} block${told.n > 1 ? "s" : ""}`;
        return { text: `Too wide to be named: ${short}, over ${blocks}.`, short: `${short}, too wide to be named` };
      }
      if (told.low < 1 && told.high > 1)
        return { text: `This run cannot tell the two apart: ${short}.`, short, told, faster };
      const text = `${fast[0].toUpperCase()}${fast.slice(1)} does ${asTimes(told)} as many transfers a second as ${slow}.`;
      return { text, short, told, faster };
    }

    command({ loaded: { run, treatment }, cells }) {
      const names = [...new Set(cells.map(({ name }) => name))].join();
      return `${run.command} -p contestants=${names} -p ${run.treatment}=${treatment}`;
    }

    citation(state, { loaded: { run } }, { told, faster }, base) {
      const [over, under] = [faster, 1 - faster].map((which) => state.sides[which]);
      // What both sides have is said once.
      const alike = over.map((index, place) => place > 0 && index === under[place]);
      const words = (side, isAlike) => this.named(side, (place) => alike[place] === isAlike);
      const both = words(over, true);
      const of = `${words(over, false)} ÷ ${words(under, false)}${both ? `; both ${both}` : ""}`;
      const load = `α=${this.exponents[state.exponent]}, ${this.loads[state.load].at(-1)}`;
      return `${of}: transfers/s ${asFactor(told)}, ${load}, n=${told.n}. The Gap Book, run ${run.id}. ${base}#${this.address(state)}`;
    }

    // All that the page shows of a state.
    answer(state, base) {
      const [left, right] = state.sides.map(String);
      if (left === right) return { sentence: "Both sides are set alike.", held: [], same: true };
      const held = this.held(state).map((one) => ({ ...one, ...this.said(state, one), command: this.command(one) }));
      if (held.length) {
        const [newest] = held;
        const cited = newest.told ? this.citation(state, newest, newest, base) : "";
        return { sentence: newest.text, held, cited };
      }
      const alone = SIDES.map((_, which) => this.alone(state, which));
      const missing = SIDES.filter((_, which) => alone[which].length === 0).map((letter) => `side ${letter}`);
      const sentence = missing.length
        ? `No measurement under this load: ${missing.join(" and ")}.`
        : "Both were measured, but in no run together. So there is no ratio.";
      return { sentence, held, alone, nearest: this.nearest(state) };
    }
  }

  // The one that begins as the name does, for the longest: another version of the same system, say; of several the latest.
  function nearestName(names, name) {
    const shared = (one) => [...one].findIndex((letter, place) => letter !== name[place]);
    const lengths = names.map((one) => (shared(one) < 0 ? one.length : shared(one)));
    const longest = Math.max(...lengths);
    const alike = names.filter((_, place) => lengths[place] === longest);
    return names.indexOf(alike.toSorted((one, other) => one.localeCompare(other, "en", { numeric: true })).at(-1));
  }

  // --- the page -----------------------------------------------------------------------------------------------------
  function element(tag, properties = {}, ...children) {
    const { data, ...rest } = properties;
    const made = Object.assign(document.createElement(tag), rest);
    for (const [name, value] of Object.entries(data ?? {})) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const withOne = (list, place, value) => list.map((each, index) => (index === place ? value : each));

  let fields = 0;

  function choice(label, options, onChange) {
    const id = `gb-choice-${(fields += 1)}`;
    const select = element("select", { id }, ...options);
    select.addEventListener("change", () => onChange(Number(select.value)));
    return { select, field: element("p", { className: "gb-choice" }, element("label", { htmlFor: id, textContent: label }), select) };
  }

  const option = (value, text) => element("option", { value, textContent: text });

  function panel(title, text, kind) {
    const code = element("pre", { className: "gb-code", tabIndex: 0, textContent: text });
    const made = element(
      "section",
      { className: `gb-panel ${kind}`, data: { "aria-label": title } },
      element("p", { className: "gb-panel-title", textContent: title }),
      element("button", { type: "button", className: "gb-button gb-copy", hidden: true, textContent: "copy" }),
      code,
    );
    return { made, code };
  }

  class Explorer {
    constructor(section) {
      this.section = section;
      this.cells = new Cells(JSON.parse(section.dataset.cells));
      this.state = this.cells.first();
      this.sides = SIDES.map((letter, which) => this.makeSide(letter, which));
      this.exponent = this.common("How many want one account", this.cells.exponents, "exponent");
      this.load = this.common("Connections and transfers", this.cells.loads, "load");
      this.status = element("p", { className: "gb-result", tabIndex: -1, data: { role: "status" } });
      this.details = element("div", { className: "gb-details" });
      this.cite = panel("Cite this", "", "gb-cite-this");
      this.again = panel("Measure it again", "", "gb-again");
      section.replaceChildren(
        ...this.sides.map(({ fieldset }) => fieldset),
        element(
          "fieldset",
          { className: "gb-both" },
          element("legend", { textContent: "For both" }),
          this.exponent.field,
          this.load.field,
        ),
        this.status,
        this.details,
        this.cite.made,
        this.again.made,
      );
      this.restore();
      window.addEventListener("hashchange", () => this.follow());
    }

    makeSide(letter, which) {
      const { cells } = this;
      const groups = cells.choices[0].values.map(([, words], system) =>
        element(
          "optgroup",
          { label: words },
          ...cells.sides
            .map((side, index) => ({ side, index, text: cells.listed(side) }))
            .filter(({ side }) => side[0] === system)
            .sort((one, other) => one.text.localeCompare(other.text, "en", { numeric: true }))
            .map(({ index, text }) => option(index, text)),
        ),
      );
      const pick = choice("Pick one that was measured", [option(-1, "as set below"), ...groups], (index) => {
        if (index >= 0) this.set({ sides: withOne(this.state.sides, which, cells.sides[index]) });
      });
      const parts = cells.choices.map(({ label, values }, place) =>
        choice(label, values.map(([, words], index) => option(index, words)), (index) =>
          this.set({ sides: withOne(this.state.sides, which, withOne(this.state.sides[which], place, index)) }),
        ),
      );
      const fold = element(
        "details",
        { className: "gb-parts", open: window.matchMedia("(min-width: 700px)").matches },
        element("summary", { textContent: "or set each part" }),
        ...parts.map(({ field }) => field),
      );
      const legend = element("legend", { textContent: `Side ${letter}` });
      return { fieldset: element("fieldset", {}, legend, pick.field, fold), pick, parts };
    }

    common(label, values, name) {
      return choice(label, values.map((_, index) => option(index, "")), (index) => this.set({ [name]: index }));
    }

    set(changed) {
      this.state = { ...this.state, ...changed };
      history.replaceState(null, "", `${location.pathname}#${this.cells.address(this.state)}`);
      this.show();
    }

    // An address of something else on the page leaves both sides as they are.
    follow() {
      if (!this.cells.read(location.hash)) return;
      this.restore();
      this.section.scrollIntoView();
    }

    restore() {
      // A link within the book asks by the query, for what stands behind # is looked for on the page.
      const found = this.cells.read(location.hash) ?? this.cells.read(location.search);
      this.state = found?.state ?? this.cells.first();
      this.show(found?.unknown ?? []);
    }

    base() {
      return this.cells.base || location.href.replace(/[?#].*$/, "");
    }

    show(unknown = []) {
      const { cells, state } = this;
      this.showChoices();
      const answer = cells.answer(state, this.base());
      this.status.textContent = answer.sentence;
      const notes = unknown.map((name) =>
        element("p", { className: "gb-note", textContent: `The address asks for “${name}”, which is not here. The nearest name stands in its place.` }),
      );
      this.details.replaceChildren(...notes, ...this.told(answer));
      this.put(this.cite, answer.cited);
      this.put(this.again, answer.held[0]?.command);
    }

    put({ made, code }, text) {
      made.hidden = !text;
      code.textContent = text ?? "";
    }

    showChoices() {
      const { cells, state } = this;
      const here = cells.at(state);
      const measured = (side) => {
        const index = cells.indexOfSide.get(side.join());
        return index !== undefined && here.some(({ bySide }) => bySide.has(index));
      };
      this.sides.forEach(({ pick, parts }, which) => {
        pick.select.value = cells.indexOfSide.get(state.sides[which].join()) ?? -1;
        parts.forEach(({ select }, place) => {
          select.value = state.sides[which][place];
          for (const each of select.options) {
            const index = Number(each.value);
            const known = measured(withOne(state.sides[which], place, index));
            each.textContent = `${cells.words(place, index)}${known ? "" : " (not measured with the rest)"}`;
          }
        });
      });
      cells.exponents.forEach((value, index) => {
        const share = cells.share({ ...state, exponent: index });
        this.mark(this.exponent.select.options[index], `${share}, α = ${value}`, { ...state, exponent: index });
      });
      cells.loads.forEach(([, words], index) =>
        this.mark(this.load.select.options[index], words, { ...state, load: index }),
      );
      this.exponent.select.value = state.exponent;
      this.load.select.value = state.load;
    }

    mark(each, words, state) {
      each.textContent = `${words}${this.cells.held(state).length ? "" : " (not measured with these sides)"}`;
    }

    told(answer) {
      if (answer.same) return [];
      if (answer.held.length) return this.toldOfRuns(answer.held);
      return this.toldOfNone(answer);
    }

    rates(rows) {
      const told = rows.flatMap(({ letter, words, cell: { rates, label }, run }) => {
        const rate = this.cells.rate({ rates });
        const blocks = `${rate.n} block${rate.n > 1 ? "s" : ""}`;
        return [
          element("dt", { textContent: `Side ${letter}: ${asRate(rate)} in ${[blocks + (run ? ` of ${run}` : ""), label].filter(Boolean).join(", ")}` }),
          element("dd", { textContent: words }),
        ];
      });
      return element("dl", { className: "gb-rates" }, ...told);
    }

    toldOfRuns([newest, ...others]) {
      const { cells, state } = this;
      const rows = SIDES.map((letter, which) => ({
        letter,
        words: cells.listed(state.sides[which]),
        cell: newest.cells[which],
      }));
      const place = cells.places.indexOf("disk");
      const disks = state.sides.map((side) => cells.words(place, side[place]));
      const made = [
        this.rates(rows),
        element("p", { textContent: `${cells.alpha(state)}: ${cells.share(state)} want the busiest account. ${cells.loads[state.load][1]}.` }),
      ];
      if (disks[0] !== disks[1])
        made.push(element("p", { textContent: `The two promise different things about the disk: ${disks[0]}, and ${disks[1]}.` }));
      made.push(element("p", {}, ...this.runLine(newest)));
      if (others.length)
        made.push(
          element("p", { textContent: "Other runs hold the same two:" }),
          element("ul", {}, ...others.map((one) => element("li", {}, `${one.short}. `, ...this.runLine(one)))),
        );
      return made;
    }

    runLine({ loaded: { run }, cells }) {
      const windows = [...new Set(cells.map(({ window }) => window))].join(" and ");
      const chapter = element("a", { href: `${run.chapter}.html`, textContent: run.chapter });
      return ["Run ", run.id, " of ", chapter, `, ${run.date}, ${run.machine}. Each trial was measured for ${windows} s.`];
    }

    toldOfNone({ alone, nearest }) {
      const { cells, state } = this;
      const rows = SIDES.flatMap((letter, which) =>
        alone[which].map(({ loaded: { run }, cell }) => ({
          letter,
          words: cells.listed(state.sides[which]),
          cell,
          run: `${run.chapter}, ${run.machine}`,
        })),
      );
      const offers = nearest.map((to) => {
        const words = cells.differences(state, to).join("; ");
        const button = element("button", { type: "button", className: "gb-button", textContent: words });
        button.addEventListener("click", () => {
          this.set(to);
          this.status.focus();
        });
        return element("li", {}, button);
      });
      return [
        ...(rows.length ? [this.rates(rows)] : []),
        element("p", { textContent: "The nearest that were measured together:" }),
        element("ul", { className: "gb-offers" }, ...offers),
      ];
    }
  }

  // A row stands in a fold, which not every browser opens for its address.
  function openRow() {
    const row = location.hash.startsWith("#cell-") && document.getElementById(location.hash.slice(1));
    if (!row) return;
    row.closest("details").open = true;
    row.scrollIntoView();
  }

  window.addEventListener("hashchange", openRow);
  openRow();
  for (const section of document.querySelectorAll(".gb-explorer")) section.explorer = new Explorer(section);
})();
