// Compiled, not run: what each outcome has, and what it has not.
import { Answer, Row, Sale, Unanswered, decode, home } from '..';

export async function told(sale: Sale): Promise<string> {
  const answer: Answer = await sale.grab('alice', { req: 'order-1', qty: 2 });
  switch (answer.outcome) {
    case 'GRANTED':
      return `${answer.seq} ${answer.state} ${answer.available}`;
    case 'SOLDOUT':
      // @ts-expect-error a refusal has no number
      return `${answer.held} ${answer.seq}`;
    case 'NOTOPEN':
      return `${answer.opensIn}`;
    default:
      return answer.outcome;
  }
}

export async function read(sale: Sale): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of sale.winners({ state: 'SOLD' })) rows.push(row);
  return rows;
}

export const key = (user: Buffer): string => home('sale', 16, user).key;
export const rev = (fields: string[]): number => decode(fields).data.rev;
export const order = (error: Unanswered): string | undefined => error.req;
