// Lays a run beside the published one of its chapter, in this browser alone: it sends nothing anywhere.
// What a reader gives is data of one shape, or is refused; its texts are shown as text.
(() => {
  "use strict";

  const section = document.querySelector(".gb-compare");
  if (!section) return;
  const book = JSON.parse(section.dataset.book);
  const FIRST = 8;
  const MOST = { cells: 2_000, ratios: 20_000, numbers: 500, facts: 200, name: 200, key: 300, text: 5_000, shown: 100 };
  // Control characters but tab and line ends, line separators, and what turns the direction of a text round.
  const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/;
  const WHAT_IT_IS = "The command gapbook compare RUN --export writes the file that is read here.";

  // --- what was given -------------------------------------------------------------------------
  class Refused extends Error {}

  function require(holds, message) {
    if (!holds) throw new Refused(message);
  }

  function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
  }

  function checkText(value, where, most = MOST.text, least = 0) {
    require(typeof value === "string", `${where} is no text`);
    require(value.length >= least && value.length <= most, `${where} has ${value.length} characters`);
    require(!CONTROLS.test(value), `${where} holds a control character`);
  }

  function checkFacts(value, where, most = MOST.facts) {
    require(isObject(value), `${where} is no object`);
    const entries = Object.entries(value);
    require(entries.length <= most, `${where} has ${entries.length} entries`);
    for (const [name, fact] of entries) {
      checkText(name, `a name in ${where}`, MOST.key);
      checkText(fact, `a value in ${where}`);
    }
  }

  function checkCount(value, where, least = 0, most = Number.MAX_SAFE_INTEGER) {
    require(Number.isInteger(value) && value >= least && value <= most, `${where} is no number from ${least} to ${most}`);
  }

  function checkAmount(value, where) {
    require(Number.isFinite(value) && value >= 1e-15 && value <= 1e18, `${where} is no amount`);
  }

  function checkEstimate(value, where) {
    require(isObject(value), `${where} is no estimate`);
    const { estimate, low, high, n } = value;
    checkAmount(estimate, where);
    checkCount(n, `the blocks of ${where}`, 1, 100_000);
    require((low === null) === (high === null), `${where} has an interval with one end`);
    if (low === null) return;
    checkAmount(low, where);
    checkAmount(high, where);
    require(
      low <= estimate * (1 + 1e-9) && estimate <= high * (1 + 1e-9),
      `${where} lies outside its interval`,
    );
  }

  function checkList(value, where, most, check) {
    require(Array.isArray(value), `${where} is no list`);
    require(value.length <= most, `${where} has ${value.length} entries; allowed: ${most}`);
    value.forEach((one, place) => {
      require(isObject(one), `${where} ${place} is no object`);
      check(one, `${where} ${place}`);
    });
  }

  function checked(run) {
    require(isObject(run) && Object.hasOwn(run, "summary"), `This is no run in small. ${WHAT_IT_IS}`);
    require(
      run.summary === book.summary,
      `This run is of version ${shortened(JSON.stringify(run.summary) ?? "")}; this page reads ${book.summary}.`,
    );
    require(typeof run.run_id === "string" && /^[0-9a-f]{12}$/.test(run.run_id), "run_id is no id of a run");
    require(
      typeof run.manifest_sha256 === "string" && /^[0-9a-f]{64}$/.test(run.manifest_sha256),
      "manifest_sha256 is no hash",
    );
    require(run.manifest_sha256.startsWith(run.run_id), "the run id is not that of its manifest");
    checkText(run.chapter, "chapter", MOST.name, 1);
    checkText(run.treatment, "treatment", MOST.name, 1);
    checkText(run.processor, "processor");
    require(
      Number.isFinite(run.began_unix_s) && run.began_unix_s >= 0 && run.began_unix_s <= 253_402_300_799,
      "began_unix_s is no time",
    );
    for (const name of ["machine", "settings", "versions", "facts"]) checkFacts(run[name], name);
    checkFacts(run.words, "words", MOST.cells);
    checkCount(run.trials, "trials");
    checkCount(run.valid_trials, "valid_trials");
    checkList(run.contestants, "contestants", MOST.cells, (one, where) => {
      checkText(one.name, `the name of ${where}`, MOST.name, 1);
      checkText(one.label, `the label of ${where}`);
      checkFacts(one.facts, `the facts of ${where}`);
    });
    checkList(run.cells, "cells", MOST.cells, (one, where) => {
      checkCount(one.contestant, `the contestant of ${where}`, 0, run.contestants.length - 1);
      checkText(one.at, `the load of ${where}`, MOST.name, 1);
      checkEstimate(one.goodput, where);
    });
    checkList(run.ratios, "ratios", MOST.ratios, (one, where) => {
      checkCount(one.over, where, 0, run.cells.length - 1);
      checkCount(one.under, where, 0, run.cells.length - 1);
      require(one.over !== one.under, `${where} is of one cell`);
      checkEstimate(one.ratio, where);
    });
    checkList(run.numbers, "numbers", MOST.numbers, (one, where) => {
      checkText(one.address, `the address of ${where}`, MOST.name, 1);
      checkText(one.quantity, `the quantity of ${where}`);
      require(
        Array.isArray(one.cells) && one.cells.length > 0 && one.cells.length <= MOST.cells,
        `the cells of ${where} are no list of up to ${MOST.cells}`,
      );
      for (const place of one.cells) checkCount(place, `a cell of ${where}`, 0, run.cells.length - 1);
      checkEstimate(one.value, where);
    });
    require(new Set(setups(run, wholly)).size === run.cells.length, "two cells are the same");
    return run;
  }

  function parsed(text) {
    require(text.length <= book.most_bytes, tooLarge(text.length));
    let content;
    try {
      content = JSON.parse(text);
    } catch {
      throw new Refused(`This is not JSON. ${WHAT_IT_IS}`);
    }
    return checked(content);
  }

  function tooLarge(bytes) {
    return `This has ${bytes.toLocaleString("en-US")} bytes; a run in small has at most ${book.most_bytes.toLocaleString("en-US")}. ${WHAT_IT_IS}`;
  }

  // --- the published run ----------------------------------------------------------------------
  // A page that was opened from a file may fetch nothing; a script from beside it is allowed.
  function published(chapter) {
    require(
      chapter !== "" && Object.hasOwn(book.runs, chapter),
      `No run of the chapter ${shortened(chapter)} is published. The command gapbook compare RUN RUN takes two runs.`,
    );
    return shipped(chapter);
  }

  function shipped(key) {
    const [id, address] = book.runs[key];
    const known = () => {
      require(Object.hasOwn(window.gapbookRuns ?? {}, id), "The published run is not where this page looks for it.");
      return checked(window.gapbookRuns[id]);
    };
    if (Object.hasOwn(window.gapbookRuns ?? {}, id)) return Promise.resolve(known());
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.addEventListener("load", () => {
        try {
          resolve(known());
        } catch (error) {
          reject(error);
        }
      });
      script.addEventListener("error", () => reject(new Refused("The published run could not be loaded.")));
      document.head.append(script);
    });
  }

  // --- side by side, as gapbook/method/compared.py does it --------------------------------------
  function factsOf(run, place) {
    const cell = run.cells[place];
    return new Map([
      ...Object.entries(run.facts),
      ...Object.entries(run.contestants[cell.contestant].facts),
      [run.treatment, cell.at],
    ]);
  }

  const wholly = () => true;
  const butVersion = (name) => name !== "version";

  // What each cell is, as a text that two cells share where they are the same.
  function setups(run, counts) {
    return run.cells.map((_, place) => {
      const facts = [...factsOf(run, place)].filter(([name]) => counts(name));
      return JSON.stringify(facts.sort(([one], [other]) => (one < other ? -1 : 1)));
    });
  }

  function placesBySetup(run, counts, taken) {
    const found = new Map();
    setups(run, counts).forEach((setup, place) => {
      if (!taken.has(place)) found.set(setup, [...(found.get(setup) ?? []), place]);
    });
    return found;
  }

  // Your place of each of our cells that is the same, but perhaps for its version.
  function matched(yours, ours) {
    const found = new Map();
    for (const counts of [wholly, butVersion]) {
      const theirs = placesBySetup(ours, counts, new Set(found.keys()));
      const mine = placesBySetup(yours, counts, new Set(found.values()));
      for (const [setup, places] of mine) {
        const other = theirs.get(setup) ?? [];
        // Two versions of a system in one run: which of them another one stands for, nobody can tell.
        if (places.length === 1 && other.length === 1) found.set(other[0], places[0]);
      }
    }
    return found;
  }

  function isBounded(one) {
    return one.low !== null;
  }

  function errorOf(one) {
    const freedom = Math.min(one.n - 1, book.student.length);
    return Math.log(one.high / one.low) / 2 / book.student[freedom - 1];
  }

  // By Welch on the log scale, degrees of freedom after Satterthwaite.
  function divided(over, under) {
    const estimate = over.estimate / under.estimate;
    const n = Math.min(over.n, under.n);
    if (!isBounded(over) || !isBounded(under) || n < 2) return { estimate, low: null, high: null, n };
    const variances = [over, under].map((one) => errorOf(one) ** 2);
    const whole = variances[0] + variances[1];
    if (whole === 0) return { estimate, low: estimate, high: estimate, n };
    const parts = variances[0] ** 2 / (over.n - 1) + variances[1] ** 2 / (under.n - 1);
    const freedom = Math.min(Math.max(Math.floor(whole ** 2 / parts), 1), book.student.length);
    const half = book.student[freedom - 1] * Math.sqrt(whole);
    return { estimate, low: estimate * Math.exp(-half), high: estimate * Math.exp(half), n };
  }

  function inverted({ estimate, low, high, n }) {
    return { estimate: 1 / estimate, low: high === null ? null : 1 / high, high: low === null ? null : 1 / low, n };
  }

  function readingOf(ratio, spread) {
    if (!isBounded(ratio)) return "no interval";
    if (ratio.low <= 1 && 1 <= ratio.high) return "equal";
    const half = Math.log(ratio.high / ratio.low) / 2;
    const usual = Math.hypot(half, book.normal * spread);
    return Math.abs(Math.log(ratio.estimate)) <= usual ? "usual" : "beyond";
  }

  function rowOf(quantity, yours, ours, spread, isSameRun, versions) {
    const ratio = isSameRun ? { estimate: 1, low: 1, high: 1, n: ours.n } : divided(yours, ours);
    const reading = isSameRun ? "same run" : readingOf(ratio, spread);
    return { quantity, yours, ours, ratio, reading, versions, distance: Math.abs(Math.log(ratio.estimate)) };
  }

  function nameOf(run, place) {
    return run.contestants[run.cells[place].contestant].name;
  }

  function loadOf(run, place) {
    const { at } = run.cells[place];
    return (Object.hasOwn(run.words, at) && run.words[at]) || `${run.treatment} = ${at}`;
  }

  function versionsOf(yours, ours, pairs) {
    const told = pairs.flatMap(([mine, theirs]) => {
      const own = factsOf(yours, mine);
      const other = factsOf(ours, theirs);
      if (own.get("version") === other.get("version")) return [];
      return [`${own.get("system") ?? "?"} ${own.get("version")}, ours ${other.get("version")}`];
    });
    return [...new Set(told)];
  }

  function pairOf(one, other) {
    return `${Math.min(one, other)} ${Math.max(one, other)}`;
  }

  function ratiosOf(yours, ours, places, spread, isSameRun) {
    const held = new Map(yours.ratios.map((one) => [pairOf(one.over, one.under), one]));
    const rows = ours.ratios.flatMap((one) => {
      if (!places.has(one.over) || !places.has(one.under)) return [];
      const own = held.get(pairOf(places.get(one.over), places.get(one.under)));
      if (!own) return [];
      let [theirs, mine, over, under] = [one.ratio, own.ratio, one.over, one.under];
      if (own.over !== places.get(one.over)) mine = inverted(mine);
      if (theirs.estimate < 1) [theirs, mine, over, under] = [inverted(theirs), inverted(mine), under, over];
      const quantity = `${nameOf(ours, over)} ÷ ${nameOf(ours, under)}, ${loadOf(ours, over)}`;
      const versions = versionsOf(yours, ours, [over, under].map((place) => [places.get(place), place]));
      return [rowOf(quantity, mine, theirs, spread, isSameRun, versions)];
    });
    return farthestFirst(rows);
  }

  // The numbers of the chapter that both made of the same cells.
  function statedOf(yours, ours, places, spread, isSameRun) {
    const held = new Map(yours.numbers.map((one) => [one.address, one]));
    const rows = ours.numbers.flatMap(({ address, quantity, cells, value }) => {
      const own = held.get(address);
      const pairs = cells.map((place) => [places.get(place), place]);
      const mine = new Set(pairs.map(([your]) => your));
      if (!own || mine.has(undefined) || mine.size !== own.cells.length || !own.cells.every((place) => mine.has(place)))
        return [];
      const row = rowOf(address, own.value, value, spread, isSameRun, versionsOf(yours, ours, pairs));
      return [{ ...row, says: quantity }];
    });
    return farthestFirst(rows);
  }

  function farthestFirst(rows) {
    const order = Object.keys(book.readings);
    return rows.sort(
      (one, other) =>
        order.indexOf(one.reading) - order.indexOf(other.reading) ||
        other.distance - one.distance ||
        (one.quantity < other.quantity ? -1 : 1),
    );
  }

  function differencesOf(yours, ours) {
    return ["machine", "versions", "settings"].flatMap((name) => {
      const [mine, theirs] = [yours, ours].map((run) => new Map(Object.entries(run[name])));
      return [...new Set([...theirs.keys(), ...mine.keys()])]
        .map((what) => [what, mine.get(what) ?? "–", theirs.get(what) ?? "–"])
        .filter(([, one, other]) => one !== other);
    });
  }

  function compared(yours, ours) {
    const isSameRun = yours.manifest_sha256 === ours.manifest_sha256;
    const kind = yours.processor === ours.processor ? "one" : "two";
    const usual = book.usual[kind];
    const places = matched(yours, ours);
    const rates = [...places]
      .sort(([one], [other]) => one - other)
      .map(([our, your]) =>
        rowOf(
          `${nameOf(ours, our)}, ${loadOf(ours, our)}`,
          yours.cells[your].goodput,
          ours.cells[our].goodput,
          usual.rates,
          isSameRun,
          versionsOf(yours, ours, [[your, our]]),
        ),
      );
    const alone = (run, taken) =>
      run.cells.flatMap((_, place) => (taken.has(place) ? [] : [`${nameOf(run, place)}, ${loadOf(run, place)}`]));
    const stated = statedOf(yours, ours, places, usual.ratios, isSameRun);
    const ratios = ratiosOf(yours, ours, places, usual.ratios, isSameRun);
    const [what, counted] = [
      ["numbers of the chapter", stated],
      ["ratios", ratios],
      ["rates", rates],
    ].find(([, rows]) => rows.length > 0) ?? ["rates", rates];
    return {
      yours,
      ours,
      isSameRun,
      kind,
      usual,
      stated,
      ratios,
      rates,
      counted,
      what,
      yoursAlone: alone(yours, new Set(places.values())),
      oursAlone: alone(ours, new Set(places.keys())),
      differences: differencesOf(yours, ours),
    };
  }

  // --- in words, as gapbook/pages/comparison.py has them -----------------------------------------
  function grouped(value, decimals) {
    return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }

  function formatFactor(value) {
    const magnitude = Math.floor(Math.log10(value));
    if (magnitude > 2) {
      const rounded = Number(value.toPrecision(3));
      return magnitude > 3 ? grouped(rounded, 0) : rounded.toFixed(0);
    }
    return value.toFixed(Math.min(2 - magnitude, 4));
  }

  function formatCount(value) {
    const magnitude = Math.floor(Math.log10(value));
    return grouped(Number(value.toPrecision(3)), value < 100 ? Math.min(Math.max(0, 2 - magnitude), 20) : 0);
  }

  function withBounds(one, format, sign = "") {
    const bounds = isBounded(one) ? ` [${format(one.low)}–${format(one.high)}]` : "";
    return `${sign}${format(one.estimate)}${bounds}`;
  }

  function asFactor(one) {
    return withBounds(one, formatFactor, "×");
  }

  function asCount(one) {
    return withBounds(one, formatCount);
  }

  function shortened(text) {
    const line = text.split(/\s+/).join(" ").trim();
    return line.length <= MOST.shown ? line : `${line.slice(0, MOST.shown)}…`;
  }

  function runWords(run) {
    const began = new Date(run.began_unix_s * 1000).toISOString();
    return (
      `run ${run.run_id} of ${shortened(run.chapter)}, ${began.slice(0, 10)} ${began.slice(11, 16)} UTC, ` +
      `${shortened(run.processor)}, ${run.valid_trials} of ${run.trials} trials count`
    );
  }

  function count(found, ...readings) {
    return found.counted.filter((row) => readings.includes(row.reading)).length;
  }

  function result(found) {
    const told = found.counted.length - count(found, "no interval");
    if (found.isSameRun) return "Both are the same run: nothing differs.";
    return `${count(found, "beyond")} of ${told} ${found.what} lie farther apart than noise and another machine put them in 95 of 100 cases.`;
  }

  function usualWords(found) {
    if (found.isSameRun) return "";
    const kind = found.kind === "one" ? "one kind of processor" : "two kinds of processor";
    const [ratio, rate] = [found.usual.ratios, found.usual.rates].map((spread) => formatFactor(Math.exp(spread)));
    return `Two runs of the book on ${kind} lie apart by ×${ratio} in a ratio and ×${rate} in a rate (one standard deviation, noise taken off).`;
  }

  function* texts(found) {
    const { yours, ours, what } = found;
    const processor = wordsOf(yours.processor).slice(0, 4).join(" ");
    const where = `Run ${yours.run_id} (${processor}) beside The Gap Book's ${ours.run_id}, ${ours.chapter}:`;
    const total = found.counted.length;
    const told = total - count(found, "no interval");
    if (found.isSameRun) {
      yield `${where} the same run, ×1.00 in all ${total} ${what}.`;
    } else if (told === 0) {
      yield `${where} ${total} ${what}, too few blocks to tell them apart.`;
    } else {
      const agree = `${count(found, "equal", "usual")} of ${told} ${what} agree within noise and machines`;
      const beyond = found.counted.filter((row) => row.reading === "beyond");
      if (beyond.length > 0) {
        const worst = beyond.reduce((one, other) => (other.distance > one.distance ? other : one));
        yield `${where} ${agree}; farthest ${worst.quantity}: ${asFactor(worst.ratio)} of ours.`;
      }
      yield `${where} ${agree}.`;
    }
  }

  function wordsOf(text) {
    return text.split(/\s+/).filter(Boolean);
  }

  function textToPaste(found) {
    const all = [...texts(found)].map(wordsOf);
    const longest = all.find((words) => words.length <= book.most_words) ?? all[0];
    const { chapter } = found.ours;
    const address = Object.hasOwn(book.addresses, chapter) ? [book.addresses[chapter]] : [];
    return [...longest.slice(0, book.most_words), ...address].join(" ");
  }

  // --- on the page ----------------------------------------------------------------------------
  const heard = section.querySelector(".gb-heard");
  const beside = section.querySelector(".gb-beside");
  const drop = section.querySelector(".gb-drop");
  let asked = 0;

  function say(words, isRefused = false) {
    heard.toggleAttribute("data-refused", isRefused);
    heard.textContent = words;
  }

  function cellOf(text, reading) {
    const cell = document.createElement("td");
    cell.textContent = shortened(text);
    if (/^×?[\d.,]+( \[.*\])?$/.test(text)) cell.className = "gb-num";
    if (reading) cell.dataset.reading = reading;
    return cell;
  }

  function lineOf(texts, reading) {
    const line = document.createElement("tr");
    line.append(...texts.map((text, place) => cellOf(text, place === 2 ? reading : "")));
    return line;
  }

  // A number of the chapter has a page of its own, and is told in words beneath its address.
  function numbered(line, { quantity, says }) {
    const [cell] = line.cells;
    if (/^[a-z0-9-]+$/.test(quantity)) {
      const link = document.createElement("a");
      link.href = `../n/${quantity}.html`;
      link.textContent = quantity;
      cell.replaceChildren(link);
    }
    const words = document.createElement("p");
    words.textContent = says;
    cell.append(words);
    return line;
  }

  function lines(rows, format) {
    return rows.map((row) => {
      const versions = row.versions.length > 0 ? ` (${row.versions.join("; ")})` : "";
      const texts = [row.quantity, asFactor(row.ratio), book.readings[row.reading] + versions];
      return lineOf([...texts, format(row.yours), format(row.ours)], row.reading);
    });
  }

  function items(names) {
    return names.map((name) => {
      const item = document.createElement("li");
      item.textContent = shortened(name);
      return item;
    });
  }

  function fill(name, rows, summary = "") {
    const target = section.querySelector(`[data-rows="${name}"]`);
    target.replaceChildren(...rows);
    const fold = target.closest("details");
    (fold ?? target.closest(".gb-table")).hidden = rows.length === 0;
    if (fold) fold.querySelector("summary").textContent = summary;
  }

  function show(found) {
    const { yours, ours, stated, ratios, rates, yoursAlone, oursAlone, differences } = found;
    section.querySelector(".gb-runs").textContent = `Yours: ${runWords(yours)}.\nOurs: ${runWords(ours)}.`;
    section.querySelector(".gb-usual").textContent = usualWords(found);
    section.querySelector(".gb-paste").textContent = textToPaste(found);
    fill(
      "stated",
      lines(stated, asFactor).map((line, place) => numbered(line, stated[place])),
    );
    fill("first", lines(ratios.slice(0, FIRST), asFactor));
    fill("ratios", lines(ratios, asFactor), `All ${ratios.length} ratios`);
    fill("rates", lines(rates, asCount), `All ${rates.length} rates`);
    fill("yours_alone", items(yoursAlone), `Only in yours: ${yoursAlone.length}`);
    fill("ours_alone", items(oursAlone), `Only in ours: ${oursAlone.length}`);
    fill("differences", differences.map((one) => lineOf(one)), `Settings that differ: ${differences.length}`);
    beside.hidden = false;
    say(result(found));
  }

  // Whoever is asked last is shown, however long the others take.
  async function take(reading) {
    const own = ++asked;
    beside.hidden = true;
    say("Reading …");
    try {
      const yours = await reading();
      const ours = await published(yours.chapter);
      const found = compared(yours, ours);
      require(
        found.rates.length > 0,
        "Your run shares no cell with the published one: its contestants or its load are others. The command gapbook compare RUN says which.",
      );
      if (own === asked) show(found);
    } catch (error) {
      if (own !== asked) return;
      say(error instanceof Refused ? error.message : "This cannot be read as a run.", true);
    }
  }

  function takeFile(file) {
    take(async () => {
      require(file.size <= book.most_bytes, tooLarge(file.size));
      const text = await file.text().catch(() => {
        throw new Refused(`This is a folder, or a file that cannot be opened. ${WHAT_IT_IS}`);
      });
      return parsed(text);
    });
  }

  function takeText(text) {
    take(async () => parsed(text));
  }

  function isOver(event, over) {
    event.preventDefault();
    drop.toggleAttribute("data-over", over);
  }

  // Also beside the frame: the browser would open what is dropped there in place of the page.
  document.addEventListener("dragover", (event) => isOver(event, true));
  document.addEventListener("dragleave", (event) => isOver(event, false));
  document.addEventListener("drop", (event) => {
    isOver(event, false);
    const { files } = event.dataTransfer;
    if (files.length > 0) takeFile(files[0]);
    else takeText(event.dataTransfer.getData("text/plain"));
  });
  section.querySelector("#gb-run").addEventListener("change", ({ target }) => {
    if (target.files.length > 0) takeFile(target.files[0]);
    // So that the same file can be chosen again after it was written anew.
    target.value = "";
  });
  section.querySelector("#gb-pasted").addEventListener("input", ({ target }) => {
    if (target.value.trim()) takeText(target.value);
  });
  section.querySelector(".gb-example").addEventListener("click", () => take(() => shipped("")));
  section.querySelector(".gb-example").hidden = !Object.hasOwn(book.runs, "");
  drop.hidden = false;
})();
