import * as z from 'zod'

/**
 * Kinds of keys that identify a thing, with their strength. Two sightings with the same strong key
 * are one thing; medium keys need a second one, weak ones a place and a time. A value
 * that many things share does not count as a key (`entities/rejected-keys.ts`).
 */
export const KEY_KINDS = {
  shoal_cell: 'strong',
  snmp_engine_id: 'strong',
  serial: 'strong',
  tls_spki: 'strong',
  ssh_host_key: 'strong',
  mdns_id: 'strong',
  home_assistant_id: 'strong',
  ble_public_address: 'strong',
  container_id: 'strong',
  kubernetes_uid: 'strong',
  cloud_instance_id: 'strong',
  mac: 'medium',
  upnp_udn: 'medium',
  fqdn: 'medium',
  private_mac: 'weak',
  ip: 'weak',
  name: 'weak',
} as const satisfies Record<string, KeyStrength>

type KeyStrength = 'strong' | 'medium' | 'weak'
export type KeyKind = keyof typeof KEY_KINDS

const KINDS = Object.keys(KEY_KINDS) as [KeyKind, ...KeyKind[]]

export const SightingKey = z.strictObject({
  kind: z.enum(KINDS),
  /** Normalised value: MAC as `aa:bb:cc:dd:ee:ff`, names in lower case, fingerprints in hex. */
  value: z.string().min(1).max(256),
})
export type SightingKey = z.infer<typeof SightingKey>

const Text = z.string().max(256)
const Texts = z.array(Text).max(64)

/** A service at a port. */
export const ServiceFact = z.strictObject({
  port: z.int().min(1).max(65_535),
  transport: z.enum(['tcp', 'udp']),
  /** Protocol: `http`, `ssh`, `mqtt`, `ollama`. */
  name: z.string().max(64),
  product: Text.nullable(),
  version: z.string().max(64).nullable(),
  is_encrypted: z.boolean().nullable(),
  /** True when it answered without credentials; null when unknown. */
  is_open: z.boolean().nullable(),
})
export type ServiceFact = z.infer<typeof ServiceFact>

/**
 * Facts about a thing, by their fixed names. Modules report what they saw and judge nothing: type and
 * risk follow from rules of the registry. All are optional; a fact that a sighting lacks says nothing.
 */
export const SightingFacts = z.strictObject({
  name: Text.exactOptional(),
  hostname: Text.exactOptional(),
  vendor: Text.exactOptional(),
  model: Text.exactOptional(),
  firmware: Text.exactOptional(),
  os: Text.exactOptional(),
  serial: Text.exactOptional(),
  location: Text.exactOptional(),
  description: z.string().max(1024).exactOptional(),
  ip_addresses: Texts.exactOptional(),
  mac_addresses: Texts.exactOptional(),
  /** Types that the source itself names, in its words: `_ipp._tcp`, `printer`. */
  claimed_types: Texts.exactOptional(),
  services: z.array(ServiceFact).max(64).exactOptional(),
  /** Names of models that an inference server offers. */
  models: z.array(z.string().max(128)).max(256).exactOptional(),
  /** Neighbours by name or address, from LLDP, bridges and routes. */
  neighbours: Texts.exactOptional(),
  gateway: z.boolean().exactOptional(),
  signal_dbm: z.number().exactOptional(),
  ssid: z.string().max(64).exactOptional(),
  wifi_security: z
    .enum(['open', 'wep', 'wpa', 'wpa2', 'wpa3', 'owe', 'enterprise', 'unknown'])
    .exactOptional(),
  certificate: z
    .strictObject({
      subject: Text,
      issuer: Text,
      expires_at: z.iso.datetime(),
      is_self_signed: z.boolean(),
      is_name_match: z.boolean().nullable(),
    })
    .exactOptional(),
  default_credentials: z.boolean().exactOptional(),
  /** Battery of a sensor. */
  battery_percent: z.number().exactOptional(),
})
export type SightingFacts = z.infer<typeof SightingFacts>

/** What one row says about one thing. */
export const Sighting = z.strictObject({
  keys: z.array(SightingKey).max(32),
  facts: SightingFacts,
  /** Time for which it holds, seconds; the default of the module's kind when absent. */
  ttl_seconds: z.number().positive().exactOptional(),
  /** True when it says that the thing has gone: a goodbye. */
  is_gone: z.boolean().exactOptional(),
})
export type Sighting = z.infer<typeof Sighting>
