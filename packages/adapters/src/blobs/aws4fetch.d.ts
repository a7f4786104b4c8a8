/** So much of aws4fetch is used. It is an optional peer: types are checked where it is not installed, too. */
declare module "aws4fetch" {
  export class AwsV4Signer {
    constructor(request: {
      method: string;
      url: string;
      headers: Record<string, string>;
      service: string;
      region: string;
      accessKeyId: string;
      secretAccessKey: string;
      sessionToken?: string;
      /** ISO 8601 without punctuation and milliseconds; left out: now. */
      datetime?: string;
    });
    /** Neither sends nor reads the body. */
    sign(): Promise<{ url: URL; headers: Headers }>;
  }
}
