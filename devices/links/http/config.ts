import * as z from 'zod'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { DECLARED_VERB, DeclaredName, DeclaredProperties } from '../../declared/config.ts'
import { refuseFaults } from '../../declared/faults.ts'
import { FINGERPRINT, normalizeFingerprint } from '../../net/dial.ts'

/** Path with query, below the address of the device; `{name}` stands for a parameter. */
const Path = z
  .string()
  .max(1024)
  .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and have no blanks')

const Config = z.strictObject({
  kind: z.literal('http'),
  name: DeclaredName,
  url: z
    .string()
    .max(300)
    .regex(/^https?:\/\/[^\s/@?#]+\/?$/, 'must be like http://192.0.2.40:8080')
    .describe('Address of the device; credentials are in authorization_file.'),
  authorization_file: z
    .string()
    .min(1)
    .max(4096)
    .exactOptional()
    .describe('File that holds the value of the Authorization header.'),
  ca_file: z
    .string()
    .min(1)
    .max(4096)
    .exactOptional()
    .describe('Authority of the device, PEM; those of the system when absent.'),
  fingerprint: z
    .string()
    .max(128)
    .transform(normalizeFingerprint)
    .pipe(z.string().regex(FINGERPRINT))
    .exactOptional()
    .describe('SHA-256 of its certificate, instead of an authority.'),
  site: z.string().max(64).exactOptional(),
  envelope: SafetyEnvelope.exactOptional(),
  state: z
    .strictObject({
      path: Path,
      every_seconds: z.number().min(1).max(3600).default(10),
    })
    .exactOptional()
    .describe('Request that returns the state as JSON.'),
  timeout_seconds: z.number().min(0.1).max(60).default(5).describe('Time limit of a request.'),
  max_answer_bytes: z
    .int()
    .min(1024)
    .max(1024 * 1024)
    .default(64 * 1024)
    .describe('Largest answer that is read.'),
  properties: DeclaredProperties,
  verbs: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,63}$/),
      z.strictObject({
        ...DECLARED_VERB,
        method: z.enum(['POST', 'PUT']).default('POST'),
        path: Path,
        body: z.json().exactOptional().describe('JSON; {name} stands for a parameter.'),
      }),
    )
    .default({})
    .refine(verbs => Object.keys(verbs).length <= 32, 'has at most 32 verbs'),
  estop_verb: z
    .string()
    .max(64)
    .exactOptional()
    .describe('Verb without parameters that an e-stop sends; none when absent.'),
})
export type HttpLinkConfig = z.infer<typeof Config>

/** A device with an HTTP interface. */
export const HttpLinkConfig = Config.superRefine(
  refuseFaults<HttpLinkConfig>(({ path, body = null }) => ({ path, body })),
).superRefine(({ state, properties }, context) => {
  if (state !== undefined || Object.keys(properties).length === 0) return
  const message =
    'is missing, so the properties are never read: add the path that returns them as JSON, such as ' +
    'state: { path: /state }'
  context.addIssue({ code: 'custom', path: ['state'], message })
})
