/** A server to be loaded, in a process of its own. */
export interface HttpContender {
  name: string;
  url: string;
  pid: number;
  /** What one connection sends, over and over. */
  request(connection: number): { headers: Record<string, string>; body: string };
  /** Whether a body says that two and three are five. */
  isRight(body: string): boolean;
  close(): Promise<void>;
}
