import type { FoundService } from './services.ts'
import { TXT_RULES, type TxtRule } from './txt-rules.ts'

interface DeviceFacts {
  vendor: string | null
  model: string | null
  serial: string | null
  firmware: string | null
  device_id: string | null
  macs: string[]
}

const MAX_TEXT = 256
const MAX_ID = 128
const MAX_MACS = 4

/** What a service says about its device, by the rules of its type. */
export const readDeviceFacts = ({
  type,
  instance,
  txt,
}: Pick<FoundService, 'type' | 'instance' | 'txt'>): DeviceFacts => {
  const rule = TXT_RULES[type] ?? {}
  const read = (keys: readonly string[] | undefined) => firstOf(txt, keys)
  return {
    vendor: rule.vendor ?? read(rule.vendorKeys),
    model: stripParentheses(read(rule.modelKeys)),
    serial: read(rule.serialKeys),
    firmware: read(rule.firmwareKeys),
    device_id: findDeviceId(rule, instance, txt),
    macs: listMacs(rule, instance, txt),
  }
}

const firstOf = (
  txt: ReadonlyMap<string, string | null>,
  keys: readonly string[] = [],
): string | null => {
  const found = keys.map(key => txt.get(key)?.trim()).find(value => value)
  return found?.slice(0, MAX_TEXT) ?? null
}

/** `product` of printers is written in parentheses. */
const stripParentheses = (text: string | null): string | null =>
  text?.replace(/^\((.*)\)$/, '$1') ?? null

const findDeviceId = (
  { id, instanceId }: TxtRule,
  instance: string,
  txt: ReadonlyMap<string, string | null>,
): string | null => {
  const value = firstOf(txt, id?.keys)
  if (id !== undefined && value !== null) return createId(id.scheme, value)
  const matched = instanceId?.pattern.exec(instance)?.[1]
  return instanceId === undefined || matched === undefined
    ? null
    : createId(instanceId.scheme, matched)
}

const createId = (scheme: string, value: string): string =>
  `${scheme}:${value.toLowerCase()}`.slice(0, MAX_ID)

const listMacs = (
  { macKeys = [], instanceMac }: TxtRule,
  instance: string,
  txt: ReadonlyMap<string, string | null>,
): string[] => {
  const texts = macKeys.flatMap(key => txt.get(key)?.split('|') ?? [])
  const ofInstance = instanceMac?.exec(instance)?.[1]
  const macs = [...texts, ...(ofInstance === undefined ? [] : [ofInstance])].flatMap(parseMac)
  return [...new Set(macs)].slice(0, MAX_MACS)
}

/** Accepts 12 hexadecimal digits with or without separators, and an EUI-64 made of a MAC address. */
const parseMac = (text: string): string[] => {
  const digits = text.toLowerCase().replace(/[:.-]/g, '')
  const short = /^[0-9a-f]{6}fffe[0-9a-f]{6}$/.test(digits)
    ? digits.slice(0, 6) + digits.slice(10)
    : digits
  return /^[0-9a-f]{12}$/.test(short) ? [(short.match(/../g) ?? []).join(':')] : []
}
