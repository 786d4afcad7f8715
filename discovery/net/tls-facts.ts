import * as z from 'zod'
import type { SightingFacts, SightingKey } from '../sighting.ts'

const Text = z.string().max(256)

/** What a TLS handshake shows of a server, in the words of rows. */
export const TlsFacts = z.strictObject({
  protocol: z.string().max(16).describe('Negotiated version: `TLSv1.3`.'),
  cipher: z.string().max(64),
  alpn: z.string().max(32).nullable(),
  subject_cn: Text.nullable(),
  san: z.array(Text).max(64).describe('Names and addresses of the certificate.'),
  issuer_cn: Text.nullable(),
  issuer_org: Text.nullable(),
  serial: z.string().max(64),
  not_before: z.iso.datetime(),
  not_after: z.iso.datetime(),
  days_left: z.int().describe('Whole days until the certificate expires; negative afterwards.'),
  expired: z.boolean(),
  self_signed: z.boolean(),
  hostname_match: z
    .boolean()
    .nullable()
    .describe('Null for an address that the certificate cannot match.'),
  chain_valid: z.boolean().describe('The chain ends at a root that this machine trusts.'),
  chain_error: z.string().max(64).nullable(),
  chain_length: z.int().min(1).max(16),
  key_type: z.enum(['rsa', 'ec', 'ed25519', 'ed448', 'other']),
  key_bits: z.int().positive().nullable(),
  signature_algorithm: z.string().max(64).nullable(),
  sha256: z.string().max(64).describe('Fingerprint of the certificate, hex.'),
  spki_sha256: z.string().max(64).describe('Fingerprint of its public key, hex.'),
  must_staple: z.boolean().describe('The certificate demands a stapled OCSP answer (RFC 7633).'),
  ocsp_stapled: z.boolean(),
})
export type TlsFacts = z.infer<typeof TlsFacts>

/**
 * Key of a server by its public key. A wildcard certificate is made to be shared by many servers and
 * identifies none.
 */
export const listCertificateKeys = (tls: TlsFacts | null): SightingKey[] =>
  tls === null || tls.san.some(name => name.startsWith('*.'))
    ? []
    : [{ kind: 'tls_spki', value: tls.spki_sha256 }]

export const certificateFacts = (
  tls: TlsFacts | null,
): Pick<SightingFacts, 'certificate'> | Record<string, never> =>
  tls === null
    ? {}
    : {
        certificate: {
          subject: tls.subject_cn ?? tls.san[0] ?? '',
          issuer: tls.issuer_cn ?? tls.issuer_org ?? '',
          expires_at: tls.not_after,
          is_self_signed: tls.self_signed,
          is_name_match: tls.hostname_match,
        },
      }
