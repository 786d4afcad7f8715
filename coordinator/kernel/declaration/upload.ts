/** Body of a call that was received as a file, beside the input. */
export interface Upload {
  /** Media type as the caller sent it. */
  type: string
  bytes: number
  /** Digest of the bytes, in hexadecimal. */
  sha256: string
  /** Reads the file from its beginning, each time; usable until the call has ended. */
  open: () => AsyncIterable<Uint8Array>
}
