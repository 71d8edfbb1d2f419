// Renews the part of a page that shows running work. Without this script, a reload does the same.
"use strict";

const live = document.querySelector("[data-live]");
let failures = 0;

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
  setTimeout(async () => {
    try {
      failures = (await renew()) ? 0 : Infinity;
    } catch {
      failures += 1;
    }
    if (failures < 5) {
      again();
    }
  }, Number(live.dataset.live) * (failures + 1));
}

if (live !== null) {
  again();
}
