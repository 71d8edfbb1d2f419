import { Catalog, isAvailable, type Product } from "./catalog";

export interface CartLine {
  product: Product;
  quantity: number;
  note?: string;
}

export interface CartSummary {
  lines: number;
  items: number;
  notes: string[];
}

export class OutOfStock extends Error {
  constructor(
    readonly productId: string,
    readonly wanted: number,
  ) {
    super(`not enough of ${productId}: ${wanted} wanted`);
  }
}

export class Cart {
  readonly lines: CartLine[] = [];

  constructor(
    private readonly catalog: Catalog,
    private readonly now: () => Date,
  ) {}

  add(productId: string, quantity: number, note?: string): CartLine {
    const product = this.catalog.require(productId);
    if (!isAvailable(product, this.now()) || product.stock < quantity) {
      throw new OutOfStock(productId, quantity);
    }
    const known = this.line(productId);
    if (known) {
      known.quantity += quantity;
      return known;
    }
    const line: CartLine = { product, quantity, note };
    this.lines.push(line);
    return line;
  }

  line(productId: string): CartLine | undefined {
    return this.lines.find((line) => line.product.id === productId);
  }

  quantity(productId: string): number {
    return this.line(productId)?.quantity ?? 0;
  }

  remove(productId: string): boolean {
    const index = this.lines.findIndex((line) => line.product.id === productId);
    if (index < 0) {
      return false;
    }
    this.lines.splice(index, 1);
    return true;
  }

  summary(): CartSummary {
    const notes: string[] = [];
    let items = 0;
    for (const line of this.lines) {
      items += line.quantity;
      if (line.note !== undefined) {
        notes.push(line.note);
      }
    }
    return { lines: this.lines.length, items, notes };
  }
}

export function merge(target: Cart, other: Cart): number {
  let moved = 0;
  for (const { product, quantity, note } of other.lines) {
    target.add(product.id, quantity, note);
    moved += quantity;
  }
  return moved;
}
