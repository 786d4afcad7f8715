import { escapeHidden } from '../../shared/visible.ts'
import type { PropertyFacts, PropertyValue } from '../../shared/wire/device.ts'

const MAX_TEXT_CHARS = 256
const MAX_NAME_CHARS = 128

/** Words by which devices say yes and no. */
const WORDS: Readonly<Record<string, boolean>> = {
  on: true,
  off: false,
  true: true,
  false: false,
  online: true,
  offline: false,
  open: true,
  closed: false,
}

/**
 * A foreign value as one of the property; undefined for one that it cannot have. Text is made safe to
 * show.
 */
export const toPropertyValue = (
  { type }: Pick<PropertyFacts, 'type'>,
  value: unknown,
): PropertyValue | undefined => {
  if (type === 'text') return toText(value)
  if (type === 'boolean')
    return typeof value === 'boolean' ? value : WORDS[String(value).slice(0, 16).toLowerCase()]
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

const toText = (value: unknown): string | undefined => {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    return undefined
  return cutText(String(value), MAX_TEXT_CHARS)
}

/** A foreign name that is safe to show; `fallback` for one without any character. */
export const toName = (name: unknown, fallback: string): string => {
  const text = typeof name === 'string' ? cutText(name.trim(), MAX_NAME_CHARS) : ''
  return text === '' ? cutText(fallback, MAX_NAME_CHARS) : text
}

/** Cuts before and after hidden characters are escaped: the escapes are longer. */
const cutText = (text: string, chars: number): string =>
  escapeHidden(text.slice(0, chars).toWellFormed()).slice(0, chars)
