export type Zone = "domestic" | "europe" | "world";

/** A parcel at the counter; weight in grams. */
export interface Parcel {
  weight: number;
  zone: Zone;
  insured: boolean;
}
