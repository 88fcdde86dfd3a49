import http from "k6/http";

const MOST_RETRIES = 65_535;

/**
 * A function that sends an operation as its module declares it and returns k6's response.
 * A template arrives as its parts: literal text, then the name of a field, and so on in turn.
 */
export function sender(base, { method, path, headers, body }) {
  const fixedHeaders = {};
  const varying = [];
  for (const [name, parts] of Object.entries(headers)) {
    if (parts.length === 1) fixedHeaders[name] = parts[0];
    else varying.push([name, parts]);
  }
  const fixedUrl = path.length === 1 ? base + path[0] : null;
  // k6 keeps its numbers by URL: one name for all that differ in a field.
  const tags = fixedUrl === null ? { name: `${method} ${path[0]}` } : {};
  return (fields, timeoutMs) => {
    const url = fixedUrl ?? base + fill(path, fields, encodeURIComponent);
    const sent = varying.length ? { ...fixedHeaders } : fixedHeaders;
    for (const [name, parts] of varying) sent[name] = fill(parts, fields, String);
    const content = body === null ? null : fill(body, fields, JSON.stringify);
    return http.request(method, url, content, { headers: sent, tags, timeout: timeoutMs, redirects: 0 });
  };
}

function fill(parts, fields, written) {
  let text = parts[0];
  for (let place = 1; place < parts.length; place += 2) {
    text += written(fields[parts[place]]) + parts[place + 1];
  }
  return text;
}

/** A function that says what an answer is: `verdict` is "acknowledged", a refusal's name or "error". */
export function judge({ success, refusals, retries }) {
  const acknowledged = fits(success);
  const refused = Object.entries(refusals).map(([name, answer]) => [name, fits(answer)]);
  const readsBody = Boolean(success.json || retries || Object.values(refusals).some((answer) => answer.json));
  return (status, text) => {
    const body = readsBody ? parsed(text) : undefined;
    const answer = { status, text, body };
    const sentAgain = retries ? (body?.[retries] ?? 0) : 0;
    if (!Number.isInteger(sentAgain) || sentAgain < 0 || sentAgain > MOST_RETRIES) {
      return { verdict: "error", retries: 0 };
    }
    const refusal = refused.find(([, isThis]) => isThis(answer))?.[0];
    return {
      verdict: refusal ?? (acknowledged(answer) ? "acknowledged" : "error"),
      retries: sentAgain,
    };
  };
}

function fits({ status, text, json }) {
  const wanted = Object.entries(json ?? {}).map(([key, value]) => [key, JSON.stringify(value)]);
  return ({ status: answered, text: said, body }) =>
    status.includes(answered) &&
    (text === null || said === text) &&
    (!json || (body !== undefined && wanted.every(([key, value]) => JSON.stringify(body[key]) === value)));
}

/** The object that the body is as JSON, or undefined. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
