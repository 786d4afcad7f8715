import { readFileSync } from 'node:fs'

export interface Safetensors {
  /** Metadata written by the file's author. */
  description: Record<string, string>
  tensors: Map<string, Float32Array>
}

/** Reads 32-bit tensors: u64 header length, JSON header, then the data (safetensors format). */
export const readSafetensors = (path: string): Safetensors => {
  const file = readFileSync(path)
  const dataStart = 8 + Number(file.readBigUInt64LE(0))
  const { __metadata__: description, ...entries } = JSON.parse(
    file.toString('utf8', 8, dataStart),
  ) as { __metadata__: Record<string, string> } & Record<string, { data_offsets: [number, number] }>
  const tensors = new Map(
    Object.entries(entries).map(([name, entry]) => {
      const [begin, end] = entry.data_offsets as [number, number]
      const bytes = Uint8Array.from(file.subarray(dataStart + begin, dataStart + end))
      return [name, new Float32Array(bytes.buffer)]
    }),
  )
  return { description, tensors }
}
