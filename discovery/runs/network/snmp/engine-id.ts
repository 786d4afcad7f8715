import { findEnterpriseName } from '../../../entities/vendors/enterprise-name.ts'

/** Enterprise of a sysObjectID below 1.3.6.1.4.1. */
export const enterpriseOf = (objectId: string | null): number | null => {
  const [, digits] = /^1\.3\.6\.1\.4\.1\.(\d{1,9})(?:\.|$)/.exec(objectId ?? '') ?? []
  return digits === undefined ? null : Number(digits)
}

interface EngineFacts {
  vendor: string | null
  mac: string | null
}

const FORMAT_MAC = 3

/** What an engine id says without credentials: its maker and, in one format, a MAC address (RFC 3411, 5). */
export const readEngineId = (engineId: string | null): EngineFacts => {
  if (engineId === null) return { vendor: null, mac: null }
  const bytes = Buffer.from(engineId, 'hex')
  const isNewForm = ((bytes[0] ?? 0) & 0x80) !== 0
  const mac =
    isNewForm && bytes[4] === FORMAT_MAC && bytes.length === 11
      ? bytes.toString('hex', 5).match(/../g)
      : null
  return {
    vendor: findEnterpriseName(bytes.readUInt32BE(0) & 0x7fffffff),
    mac: mac?.join(':') ?? null,
  }
}
