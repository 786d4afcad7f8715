import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A model in this folder; `bundled.json` lists them. */
export interface BundledModel {
  id: string
  kind: 'chat' | 'embedding'
  /** Absolute path of the weights. */
  file: string
  /** Digest of the weights, in lower-case hexadecimal. */
  sha256: string
  bytes: number
  parameters: number
  contextLength: number
  /** Length of an embedding; absent for a chat model. */
  dimensions?: number
}

/** An entry of `bundled.json`. */
export interface BundledEntry {
  id: string
  kind: 'chat' | 'embedding'
  /** Relative to this folder. */
  file: string
  sha256: string
  bytes: number
  parameters: number
  context_length: number
  dimensions?: number
}

export const BUNDLED_LIST = join(import.meta.dirname, 'bundled.json')

const toModel = ({ file, context_length, ...entry }: BundledEntry): BundledModel => ({
  ...entry,
  file: join(import.meta.dirname, file),
  contextLength: context_length,
})

export const bundledModels: readonly BundledModel[] = (
  JSON.parse(readFileSync(BUNDLED_LIST, 'utf8')) as BundledEntry[]
).map(toModel)
