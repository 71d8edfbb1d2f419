export type Category = "book" | "game" | "tool";

export interface Product {
  id: string;
  title: string;
  category: Category;
  priceCents: number;
  stock: number;
  tags: string[];
  discontinuedAt?: Date;
}

export interface ProductFilter {
  category?: Category;
  maximumCents?: number;
  tag?: string;
}

export class Catalog {
  private readonly products = new Map<string, Product>();

  constructor(initial: readonly Product[] = []) {
    for (const product of initial) {
      this.add(product);
    }
  }

  get size(): number {
    return this.products.size;
  }

  add(product: Product): void {
    this.products.set(product.id, product);
  }

  find(id: string): Product | undefined {
    return this.products.get(id);
  }

  require(id: string): Product {
    const product = this.find(id);
    if (!product) {
      throw new Error(`unknown product ${id}`);
    }
    return product;
  }

  search(filter: ProductFilter): Product[] {
    return [...this.products.values()].filter((product) => matches(product, filter));
  }

  byCategory(): Map<Category, Product[]> {
    const groups = new Map<Category, Product[]>();
    for (const product of this.products.values()) {
      const group = groups.get(product.category) ?? [];
      group.push(product);
      groups.set(product.category, group);
    }
    return groups;
  }
}

export function matches(product: Product, filter: ProductFilter): boolean {
  if (filter.category && product.category !== filter.category) {
    return false;
  }
  if (filter.maximumCents !== undefined && product.priceCents > filter.maximumCents) {
    return false;
  }
  return filter.tag === undefined || product.tags.includes(filter.tag);
}

export function isAvailable(product: Product, now: Date): boolean {
  if (product.discontinuedAt && product.discontinuedAt.getTime() <= now.getTime()) {
    return false;
  }
  return product.stock > 0;
}

export function label(category: Category): string {
  switch (category) {
    case "book":
      return "Books";
    case "game":
      return "Games";
    case "tool":
      return "Tools";
  }
}
