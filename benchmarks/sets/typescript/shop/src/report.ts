import { label, type Catalog, type Category } from "./catalog";
import type { Order, OrderStatus } from "./orders";
import { format, total } from "./pricing";

export interface Row {
  title: string;
  value: number;
  share: number;
}

export interface Report {
  rows: Row[];
  createdAt: string;
  best: Row | null;
}

export function countByStatus(orders: readonly Order[]): Map<OrderStatus, number> {
  const counts = new Map<OrderStatus, number>();
  for (const order of orders) {
    counts.set(order.status, (counts.get(order.status) ?? 0) + 1);
  }
  return counts;
}

export function stockReport(catalog: Catalog, createdAt: Date): Report {
  const rows: Row[] = [];
  let sum = 0;
  for (const [category, products] of catalog.byCategory()) {
    const value = products.reduce((stock, product) => stock + product.stock, 0);
    sum += value;
    rows.push(makeRow(category, value));
  }
  for (const row of rows) {
    row.share = percent(row.value, sum);
  }
  return { rows, createdAt: createdAt.toISOString(), best: largest(rows) };
}

function makeRow(category: Category, value: number): Row {
  return { title: label(category), value, share: 0 };
}

export function percent(part: number, whole: number, digits = 1): number {
  if (whole === 0) {
    return 0;
  }
  return Number(((part / whole) * 100).toFixed(digits));
}

export function largest(rows: readonly Row[]): Row | null {
  let best: Row | null = null;
  for (const row of rows) {
    if (best === null || row.value > best.value) {
      best = row;
    }
  }
  return best;
}

export function pad(text: string, width: number, fill: string = " "): string {
  return text.length >= width ? text : text + fill.repeat(width - text.length);
}

export function render(report: Report, widths: [number, number]): string {
  const lines = report.rows.map((row) => {
    const share = `${row.share}%`;
    return `${pad(row.title, widths[0])} ${pad(String(row.value), widths[1])} ${share}`;
  });
  if (report.best !== null) {
    lines.push(`best: ${report.best.title}`);
  }
  return lines.join("\n");
}

export function invoice(order: Order): string {
  const { customer, placedAt } = order;
  const header = `${order.number} ${placedAt.toISOString().slice(0, 10)} ${customer.name}`;
  return [header, format(order.price), total(order.price) > 0 ? order.status : "free"].join("\n");
}
