import { hostname } from 'node:os'
import * as z from 'zod'
import { Catalogue, CatalogueEntry, SHIPPED_CATALOGUE } from '../shared/catalogue.ts'
import { Tiers } from './quota/tiers.ts'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

const Http = z.strictObject({
  host: z.string().default('127.0.0.1').describe('Address to listen on.'),
  port: z.int().min(0).max(65_535).default(7070).describe('TCP port; 0 takes a free one.'),
  tls_cert_file: z
    .string()
    .optional()
    .describe('Certificate chain, PEM. Needed on any address that is not loopback.'),
  tls_key_file: z.string().optional().describe('Private key of the certificate, PEM.'),
  allowed_hosts: z
    .array(z.string())
    .default([])
    .describe('Names that requests may carry in Host, besides loopback and public.base_url.'),
  body_limit_bytes: z
    .int()
    .min(1024)
    .max(64 * 1024 * 1024)
    .default(4 * 1024 * 1024)
    .describe('Largest body of a request.'),
  headers_timeout_seconds: z
    .number()
    .positive()
    .default(5)
    .describe('Time a client may take to send its headers.'),
  request_timeout_seconds: z
    .number()
    .positive()
    .default(30)
    .describe('Time a client may take to send a whole request. Answers are not limited.'),
  drain_seconds: z
    .number()
    .nonnegative()
    .default(30)
    .describe('How long running answers may take to end after SIGTERM.'),
})

const Public = z.strictObject({
  base_url: z.url().optional().describe('Address under which clients reach the REST API.'),
})

const Presence = z.strictObject({
  suspect_after_seconds: z
    .number()
    .positive()
    .default(7.5)
    .describe('Silence after which a cell gets no more requests.'),
  dead_after_seconds: z
    .number()
    .positive()
    .default(12)
    .describe('Silence after which a cell counts as dead.'),
  ping_seconds: z
    .number()
    .positive()
    .default(5)
    .describe('How often a link is measured, and how long a cell may take to answer.'),
})

const Log = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least level that is written to standard output, as JSON lines.'),
})

/** Everything an operator can set on the coordinator. */
export const CoordinatorConfig = z
  .strictObject({
    name: z.string().default(hostname()).describe('Name of this coordinator in logs and events.'),
    state_dir: z
      .string()
      .default('.shoal/coordinator')
      .describe('Folder for the databases; made with mode 0700.'),
    http: Http.prefault({}),
    public: Public.prefault({}),
    presence: Presence.prefault({}),
    log: Log.prefault({}),
    tiers: Tiers.prefault({}),
    catalogue: Catalogue.default(
      SHIPPED_CATALOGUE.map(entry => CatalogueEntry.parse(entry)),
    ).describe('Models clients may name; see docs/operations.md.'),
  })
  .refine(({ http }) => isLoopback(http.host) || (http.tls_cert_file && http.tls_key_file), {
    path: ['http', 'host'],
    error:
      'keys and credentials would travel in the clear: an address that is not loopback needs http.tls_cert_file and http.tls_key_file',
  })
export type CoordinatorConfig = z.output<typeof CoordinatorConfig>
