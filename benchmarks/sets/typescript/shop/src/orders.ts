import { Cart } from "./cart";
import { price, total, type Discount, type Price } from "./pricing";

export type OrderStatus = "open" | "paid" | "shipped" | "cancelled";

export interface Customer {
  id: string;
  name: string;
  email: string;
  vip: boolean;
}

export interface Order {
  number: number;
  customer: Customer;
  status: OrderStatus;
  price: Price;
  placedAt: Date;
  history: OrderStatus[];
}

export interface PaymentGateway {
  charge(customerId: string, cents: number): Promise<string>;
  refund(receipt: string): Promise<void>;
}

export interface OrderRepository {
  load(number: number): Promise<Order | undefined>;
  save(order: Order): Promise<void>;
  nextNumber(): Promise<number>;
}

const NEXT: Record<OrderStatus, readonly OrderStatus[]> = {
  open: ["paid", "cancelled"],
  paid: ["shipped", "cancelled"],
  shipped: [],
  cancelled: [],
};

export function mayBecome(order: Order, status: OrderStatus): boolean {
  return NEXT[order.status].includes(status);
}

export class OrderService {
  private receipts = new Map<number, string>();

  constructor(
    private readonly orders: OrderRepository,
    private readonly gateway: PaymentGateway,
    private readonly clock: () => Date,
  ) {}

  async place(cart: Cart, customer: Customer, discounts: readonly Discount[]): Promise<Order> {
    const placedAt = this.clock();
    const order: Order = {
      number: await this.orders.nextNumber(),
      customer,
      status: "open",
      price: price(cart, discounts, placedAt),
      placedAt,
      history: ["open"],
    };
    await this.orders.save(order);
    return order;
  }

  async pay(number: number): Promise<Order> {
    const order = await this.require(number);
    const receipt = await this.gateway.charge(order.customer.id, total(order.price));
    this.receipts.set(number, receipt);
    return this.change(order, "paid");
  }

  async cancel(number: number): Promise<Order> {
    const order = await this.require(number);
    const receipt = this.receipts.get(number);
    if (receipt !== undefined) {
      await this.gateway.refund(receipt);
    }
    return this.change(order, "cancelled");
  }

  private async require(number: number): Promise<Order> {
    const order = await this.orders.load(number);
    if (!order) {
      throw new Error(`unknown order ${number}`);
    }
    return order;
  }

  private async change(order: Order, status: OrderStatus): Promise<Order> {
    if (!mayBecome(order, status)) {
      throw new Error(`order ${order.number} cannot become ${status}`);
    }
    const changed = { ...order, status, history: [...order.history, status] };
    await this.orders.save(changed);
    return changed;
  }
}
