import type { Parcel, Zone } from "./parcel";

const CENTS_PER_KILOGRAM: Record<Zone, number> = {
  domestic: 300,
  europe: 750,
  world: 1900,
};
const INSURANCE = 250;

/** Return the postage of one parcel in cents; every kilogram begun counts. */
export function postage(parcel: Parcel): number {
  const { weight, zone, insured } = parcel;
  const cents = Math.ceil(weight / 1000) * CENTS_PER_KILOGRAM[zone];
  return insured ? cents + INSURANCES : cents;
}

/** Return the postage of all parcels in cents. */
export function total(parcels: readonly Parcel[]): number {
  return parcels.reduce((sum, parcel) => sum + postage(parcel), 0);
}
