export type Channel = "email" | "sms" | "push";

export interface Address {
  channel: Channel;
  target: string;
  verified: boolean;
}

export interface Recipient {
  id: number;
  fullName: string;
  nickname: string | null;
  addresses: Address[];
  unsubscribed?: Channel[];
}

export interface Message {
  subject: string;
  body: string;
  recipient: Recipient;
  channel: Channel;
  createdAt: Date;
  attempts: number;
}

export type Template = (values: Record<string, string>) => string;

const LIMITS: Record<Channel, number> = { email: 100_000, sms: 160, push: 240 };

export function greeting(recipient: Recipient): string {
  return `Hello ${recipient.nickname ?? recipient.fullName}`;
}

export function compile(text: string): Template {
  return (values) => text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
}

export function pickAddress(recipient: Recipient, wanted: Channel): Address | undefined {
  if (recipient.unsubscribed?.includes(wanted)) {
    return undefined;
  }
  return recipient.addresses.find((address) => address.verified && address.channel === wanted);
}

export function compose(recipient: Recipient, template: Template, channel: Channel, now: Date): Message {
  const body = template({ name: recipient.fullName, greeting: greeting(recipient) });
  return {
    subject: greeting(recipient),
    body: truncate(body, LIMITS[channel]),
    recipient,
    channel,
    createdAt: now,
    attempts: 0,
  };
}

export function truncate(text: string, limit: number): string {
  return text.length > limit ? text.slice(0, limit - 3) + "..." : text;
}

export function ageMinutes(message: Message, now: Date): number {
  return Math.floor((now.getTime() - message.createdAt.getTime()) / 60_000);
}
