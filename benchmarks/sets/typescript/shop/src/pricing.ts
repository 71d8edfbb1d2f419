import type { Cart, CartLine } from "./cart";
import type { Category } from "./catalog";

export type Currency = "EUR" | "USD" | "GBP";

export interface Discount {
  code: string;
  percent: number;
  categories?: Category[];
  validUntil: Date | null;
}

export interface Price {
  netCents: number;
  taxCents: number;
  currency: Currency;
}

const TAX_PERCENT: Record<Category, number> = { book: 7, game: 19, tool: 19 };
const SIGNS: Record<Currency, string> = { EUR: "€", USD: "$", GBP: "£" };

export function round(value: number, step: number): number {
  return Math.round(value / step) * step;
}

export function applies(discount: Discount, category: Category, now: Date): boolean {
  if (discount.validUntil !== null && discount.validUntil < now) {
    return false;
  }
  return discount.categories?.includes(category) ?? true;
}

export function linePrice(line: CartLine, discounts: readonly Discount[], now: Date): number {
  const { product, quantity } = line;
  const best = discounts
    .filter((discount) => applies(discount, product.category, now))
    .reduce((most, discount) => Math.max(most, discount.percent), 0);
  return round(product.priceCents * quantity * (1 - best / 100), 1);
}

export function price(cart: Cart, discounts: readonly Discount[], now: Date, currency: Currency = "EUR"): Price {
  let netCents = 0;
  let taxCents = 0;
  for (const line of cart.lines) {
    const cents = linePrice(line, discounts, now);
    netCents += cents;
    taxCents += round((cents * TAX_PERCENT[line.product.category]) / 100, 1);
  }
  return { netCents, taxCents, currency };
}

export function total(price: Price): number {
  return price.netCents + price.taxCents;
}

export function format(price: Price, digits: number = 2): string {
  const amount = (total(price) / 100).toFixed(digits);
  return `${SIGNS[price.currency]}${amount}`;
}

export function parseCents(text: string): number | null {
  const match = /^(\d+)(?:\.(\d{2}))?$/.exec(text.trim());
  if (match === null) {
    return null;
  }
  return Number(match[1]) * 100 + Number(match[2] ?? "0");
}
