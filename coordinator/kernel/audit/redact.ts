import { hash } from 'node:crypto'
import { HIDDEN, hideMarkedSecrets } from '../../../shared/hide-secrets.ts'

/** Members that hold what people wrote to a model, or what it answered. */
const PROMPTS = new Set(['prompt', 'messages', 'input', 'content', 'completion', 'system'])
/** Members that are secrets whatever they hold. */
const SECRET_NAMES = /^(secret|password|credential|authorization|access_code|api_key|token)$/i
const MAX_DEPTH = 16

/**
 * Returns a value in the form in which the audit may store it: secrets are removed wherever they
 * are; prompts and answers are replaced by their length and SHA-256, so that they can be matched
 * but not read. A lone surrogate becomes U+FFFD, because it has no canonical JSON and the entry
 * must be recorded nevertheless.
 */
export const redact = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return redactText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return HIDDEN
  if (Array.isArray(value)) return value.map(item => redact(item, depth + 1))
  const members = Object.entries(value).map(([name, member]) => [
    redactText(name),
    redactMember(name, member, depth),
  ])
  return Object.fromEntries(members)
}

/** Returns a text in the form in which the audit may store it. */
export const redactText = (text: string): string => hideMarkedSecrets(text.toWellFormed())

const redactMember = (name: string, member: unknown, depth: number): unknown => {
  if (SECRET_NAMES.test(name) && member !== null && typeof member !== 'boolean') return HIDDEN
  return PROMPTS.has(name) ? fingerprint(member) : redact(member, depth + 1)
}

const fingerprint = (value: unknown): unknown => {
  if (value === undefined || value === null || typeof value === 'number') return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { length: text.length, sha256: hash('sha256', text) }
}
