import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listAddressKeys, listFactAddresses, listNameKeys } from '../../net/address-keys.ts'
import { certificateFacts, listCertificateKeys, TlsFacts } from '../../net/tls-facts.ts'

const Text = z.string().max(256)
const Url = z.string().max(2048)

const Product = z.strictObject({
  name: z.string().max(64),
  vendor: z.string().max(64).nullable(),
  version: z.string().max(64).nullable(),
  cpe: z
    .string()
    .max(128)
    .nullable()
    .describe('CPE 2.3 name, without a version when none is known.'),
  confidence_percent: z.int().min(0).max(100),
  evidence: z.enum(['header', 'title', 'favicon', 'cookie', 'body', 'path', 'tls']),
})

const Row = z.strictObject({
  host: Text,
  address: z.string().max(64).describe('Address that was contacted.'),
  port: z.int().min(1).max(65_535),
  scheme: z.enum(['http', 'https']),
  status: z.int().min(100).max(599),
  final_url: Url.describe('Address of the page after redirects.'),
  title: Text.nullable(),
  generator: Text.nullable(),
  server: Text.nullable(),
  auth_realm: Text.nullable(),
  headers: z
    .record(z.string().max(64), z.string().max(512))
    .describe('Values of cookies are omitted.'),
  header_order: z.array(z.string().max(64)).max(64),
  cookies: z.array(z.string().max(64)).max(32).describe('Names of cookies.'),
  favicon: z
    .strictObject({
      url: Url,
      md5: z.string().max(32),
      mmh3: z.int().describe('MurmurHash3 of the base64 text, as search engines index it.'),
      bytes: z.int().nonnegative(),
    })
    .nullable(),
  tls: TlsFacts.nullable(),
  products: z.array(Product).max(16),
  security_headers: z.strictObject({
    hsts: z.boolean(),
    csp: z.boolean(),
    x_frame_options: z.boolean(),
    x_content_type_options: z.boolean(),
    referrer_policy: z.boolean(),
  }),
  response_ms: z.int().nonnegative(),
})

export default defineScan({
  id: 'http-fingerprint',
  name: 'HTTP fingerprint',
  description:
    'Identify the product, version and certificate behind a web port of a host in scope.',
  tags: ['network', 'http', 'fingerprint'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    host: z
      .string()
      .min(1)
      .max(253)
      .exactOptional()
      .describe('Name or address; without it, the hosts of the cell configuration.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .exactOptional()
      .describe('Without it, 443 is tried first and then 80.'),
  }),
  examples: [{ host: 'printer.lan' }, { host: '127.0.0.1', port: 8080 }],
  deadlineSeconds: 30,
  row: Row,
  observe: (row, context) => {
    const [product] = row.products
    return [
      {
        keys: [
          ...listAddressKeys(row.address, context),
          ...listNameKeys(row.host),
          ...listCertificateKeys(row.tls),
        ],
        facts: {
          ...listFactAddresses(row.address),
          ...(listNameKeys(row.host).length === 0 ? {} : { hostname: row.host }),
          ...(row.title === null ? {} : { description: row.title }),
          ...(product === undefined ? {} : { claimed_types: row.products.map(({ name }) => name) }),
          services: [
            {
              port: row.port,
              transport: 'tcp',
              name: 'http',
              product: product?.name ?? row.server,
              version: product?.version ?? null,
              is_encrypted: row.scheme === 'https',
              is_open: row.status === 401 || row.status === 403 ? false : null,
            },
          ],
          ...certificateFacts(row.tls),
        },
      },
    ]
  },
})
