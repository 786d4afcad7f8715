import * as z from 'zod'
import { isOrigin } from './cors.ts'
import { isAddressRange } from './trusted-proxies.ts'

/** Settings of the HTTP listener. */
export const HttpConfig = z.strictObject({
  host: z.string().default('127.0.0.1').describe('Address to listen on.'),
  port: z.int().min(0).max(65_535).default(7070).describe('TCP port; 0 chooses a free one.'),
  tls_cert_file: z
    .string()
    .optional()
    .describe(
      'Certificate chain, PEM. Without it, a generated certificate is used on an address that is not loopback.',
    ),
  tls_key_file: z.string().optional().describe('Private key of the certificate, PEM.'),
  allowed_hosts: z
    .array(z.string())
    .default([])
    .describe('Host names that requests may carry in Host, besides loopback and public.base_url.'),
  trusted_proxies: z
    .array(
      z
        .string()
        .refine(isAddressRange, { error: 'must be an IP address or a range such as 10.0.0.0/8' }),
    )
    .default([])
    .describe(
      'Addresses of reverse proxies, also in CIDR notation, whose X-Forwarded-For gives the address of a client.',
    ),
  cors_origins: z
    .array(
      z.string().refine(isOrigin, {
        error: 'must be an origin such as https://chat.example.org, without a path, or "*"',
      }),
    )
    .default([])
    .describe(
      'Origins of web pages whose scripts may call the API from a browser; "*" allows every page. Scripts still need a key.',
    ),
  publish: z
    .boolean()
    .default(true)
    .describe(
      'Announce this coordinator as _shoal._tcp by multicast DNS on the interfaces it listens on; never on loopback.',
    ),
  body_limit_bytes: z
    .int()
    .min(1024)
    .max(64 * 1024 * 1024)
    .default(2 * 1024 * 1024)
    .describe('Largest request body.'),
  headers_timeout_seconds: z
    .number()
    .positive()
    .default(5)
    .describe('Longest time for a client to send its headers.'),
  request_timeout_seconds: z
    .number()
    .positive()
    .default(30)
    .describe('Longest time for a client to send a whole request. Responses are not limited.'),
  drain_seconds: z
    .number()
    .nonnegative()
    .default(30)
    .describe('Grace period for running responses after SIGTERM.'),
  leave_seconds: z
    .number()
    .nonnegative()
    .default(2)
    .describe(
      'Time after SIGTERM in which requests are still served while another coordinator lives: more than a balancer takes to notice.',
    ),
})
export type HttpConfig = z.output<typeof HttpConfig>
