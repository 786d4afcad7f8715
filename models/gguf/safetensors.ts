import { readFileSync, writeFileSync } from 'node:fs'

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

/** Writes 32-bit tensors; the inverse of `readSafetensors`. */
export const writeSafetensors = (path: string, { description, tensors }: Safetensors): void => {
  const header: Record<string, unknown> = { __metadata__: description }
  let offset = 0
  for (const [name, values] of tensors) {
    const end = offset + values.byteLength
    header[name] = { dtype: 'F32', shape: [values.length], data_offsets: [offset, end] }
    offset = end
  }
  const encoded = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(encoded.length))
  const data = [...tensors.values()].map(values => new Uint8Array(values.buffer))
  writeFileSync(path, Buffer.concat([length, encoded, ...data]))
}
