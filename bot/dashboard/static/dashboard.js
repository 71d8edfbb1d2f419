// Renews the part of a page that shows running work, when the service says so or from time to time. Without this
// script, a reload does the same.
"use strict";

const live = document.querySelector("[data-live]");
const SELDOM_MS = 30000; // while the service tells of changes
let failures = 0;
let events = null;
let timer = 0;

async function renew() {
  const old = document.getElementById("live");
  const inside = old.contains(document.activeElement) && document.activeElement !== document.body;
  if (document.hidden || inside) {
    return true; // the page is hidden, or an element in it has the focus
  }
  const answer = await fetch(location.pathname, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) {
    return false;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("live");
  if (fresh === null) {
    return false;
  }
  old.replaceWith(fresh);
  if (!fresh.hasAttribute("data-live")) {
    location.replace(location.pathname); // it has ended: the whole page has news
    return false;
  }
  return true;
}

function again() {
  const listening = events !== null && events.readyState !== EventSource.CLOSED;
  const pause = listening ? SELDOM_MS : Number(live.dataset.live);
  clearTimeout(timer);
  timer = setTimeout(async () => {
    try {
      failures = (await renew()) ? 0 : Infinity;
    } catch {
      failures += 1;
    }
    if (failures < 5) {
      again();
    }
  }, pause * (failures + 1));
}

function listen(address) {
  events = new EventSource(address);
  events.addEventListener("message", () => renew().catch(() => {}));
  // A refused stream is closed for good; one that ended is opened again by the browser.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) {
      again();
    }
  });
}

if (live !== null) {
  if ("events" in live.dataset) {
    listen(live.dataset.events);
  }
  again();
}
