/** Size below which releasing a buffer costs more than collecting it. */
const MIN_BYTES = 16 * 1024

/**
 * Releases the memory of a buffer now; the next garbage collection may be hundreds of megabytes away.
 * A buffer that shares its memory with others, or is small, stays as it is.
 * @param buffer is not used any more: it may be empty afterwards
 */
export const releaseMemory = ({ buffer, length }: Buffer): void => {
  if (length >= MIN_BYTES && length === buffer.byteLength) (buffer as ArrayBuffer).transfer(0)
}
