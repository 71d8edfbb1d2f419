import { expect, test } from "vitest";

import { postage, total } from "./postage";

test("every kilogram begun counts", () => {
  expect(postage({ weight: 1001, zone: "europe", insured: false })).toBe(1500);
});

test("insurance has one price", () => {
  expect(postage({ weight: 400, zone: "domestic", insured: true })).toBe(550);
});

test("a total is the sum of its parcels", () => {
  const parcels = [
    { weight: 500, zone: "domestic", insured: false },
    { weight: 2500, zone: "world", insured: false },
  ] as const;
  expect(total(parcels)).toBe(6000);
});
