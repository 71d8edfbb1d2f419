import { pickAddress, type Address, type Channel, type Message } from "./message";

export interface Transport {
  channel: Channel;
  send(address: Address, text: string): Promise<{ id: string; cost: number }>;
}

export interface Delivery {
  id: string;
  message: Message;
  cost: number;
  error?: string;
}

export interface Totals {
  sent: number;
  failed: number;
  cost: number;
  byChannel: Map<Channel, number>;
}

export class Outbox {
  private readonly waiting: Message[] = [];
  private readonly transports = new Map<Channel, Transport>();
  private delivered = new Set<string>();

  constructor(private readonly maxAttempts: number = 3) {}

  register(transport: Transport): void {
    this.transports.set(transport.channel, transport);
  }

  enqueue(message: Message, first: boolean = false): number {
    if (first) {
      this.waiting.unshift(message);
    } else {
      this.waiting.push(message);
    }
    return this.waiting.length;
  }

  private transportFor(channel: Channel): Transport | undefined {
    return this.transports.get(channel);
  }

  async deliver(message: Message): Promise<Delivery> {
    const address = pickAddress(message.recipient, message.channel);
    const transport = this.transportFor(message.channel);
    if (!address || !transport) {
      return { id: "", message, cost: 0, error: "no way to deliver" };
    }
    const receipt = await transport.send(address, message.body);
    this.delivered.add(receipt.id);
    return { id: receipt.id, message, cost: receipt.cost };
  }

  async flush(): Promise<Totals> {
    const totals: Totals = { sent: 0, failed: 0, cost: 0, byChannel: new Map() };
    for (const message of this.waiting.splice(0)) {
      const delivery = await this.deliver(message);
      if (delivery.error !== undefined) {
        totals.failed += 1;
        this.retry(message);
        continue;
      }
      totals.sent += 1;
      totals.cost += delivery.cost;
      totals.byChannel.set(message.channel, (totals.byChannel.get(message.channel) ?? 0) + 1);
    }
    return totals;
  }

  private retry(message: Message): boolean {
    if (message.attempts + 1 >= this.maxAttempts) {
      return false;
    }
    this.enqueue({ ...message, attempts: message.attempts + 1 });
    return true;
  }
}

export function summary(totals: Totals, currency: string): string {
  const channels = [...totals.byChannel.keys()].sort().join(", ");
  return `${totals.sent} sent (${channels}), ${totals.failed} failed, ${totals.cost.toFixed(2)} ${currency}`;
}
