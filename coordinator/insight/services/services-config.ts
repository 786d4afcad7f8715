import * as z from 'zod'

const Address = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine(text => !/[?#@]/.test(text), {
    error: 'must be an address without user, parameters and fragment',
  })

const repairUrl = Address.optional().describe(
  'Address that carries out an approved repair; it gets a POST with the incident as JSON. Without it the service is never repaired.',
)

const Service = z.strictObject({
  url: Address.optional().describe('Health address of the service.'),
  deep_url: Address.optional().describe('Second address that a deep check requests as well.'),
  repair_url: repairUrl,
})

/** Name of a Keycloak realm. */
const Realm = z
  .string()
  .max(64)
  .regex(/^[\w.-]+$/)

const Keycloak = z.strictObject({
  url: Address.optional().describe('Base address of Keycloak: `https://sso.acme-corp.com`.'),
  health_url: Address.optional().describe(
    'Readiness address; /health/ready of the base address by default. Keycloak 25 and later have it on port 9000.',
  ),
  realms: z
    .array(Realm)
    .min(1)
    .max(16)
    .optional()
    .describe(
      'Realms that a health check requests; platform, operators, customers and partners by default.',
    ),
  repair_url: repairUrl,
})

/** Services whose health is checked; see docs/flows.md. */
export const ServicesConfig = z.strictObject({
  cockpit: Service.prefault({}).describe(
    'Cockpit of the operators; the agent host of this coordinator by default.',
  ),
  keycloak: Keycloak.prefault({}).describe('Single sign-on of the platform.'),
  iio_api: Service.prefault({}).describe('REST API; the one of this coordinator by default.'),
})
export type ServicesConfig = z.output<typeof ServicesConfig>

const Matrix = z.strictObject({
  homeserver_url: Address.describe('Client address of the Matrix homeserver.'),
  room_id: z
    .string()
    .max(255)
    .regex(/^![^\s/]+$/)
    .describe('Room that gets the notices: `!ops:acme-corp.com`.'),
  token_file: z.string().max(4096).describe('File with the access token, read for each notice.'),
})

/** Places that get a notice when a service is down. */
export const NoticesConfig = z.strictObject({
  matrix: Matrix.optional(),
  webhook_url: Address.optional().describe('Address that gets a POST with `{"text": …}`.'),
})
export type NoticesConfig = z.output<typeof NoticesConfig>

/** Matrix homeservers of tenants, by tenant. */
export const ChatServersConfig = z
  .record(
    z
      .string()
      .max(64)
      .regex(/^[a-z0-9][a-z0-9_-]*$/),
    z.strictObject({ url: Address.describe('Client address of the homeserver.') }),
  )
  .default({})
export type ChatServersConfig = z.output<typeof ChatServersConfig>

/** Every address of the configuration: the operator chose them, so private ones are allowed. */
export const listAddresses = (config: {
  services: ServicesConfig
  notices: NoticesConfig
  chat_servers: ChatServersConfig
}): string[] =>
  [
    ...Object.values(config.services).flatMap(service => Object.values(service).filter(isText)),
    config.notices.matrix?.homeserver_url,
    config.notices.webhook_url,
    ...Object.values(config.chat_servers).map(({ url }) => url),
  ].filter(address => address !== undefined)

const isText = (value: unknown): value is string => typeof value === 'string'
