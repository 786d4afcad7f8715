import { EventEmitter, once } from 'node:events'
import { wait } from '../../../shared/wait.ts'

/** Waits for what the frames of one vehicle show; several at a time are usual. */
export class FrameWaits {
  readonly #frames = new EventEmitter().setMaxListeners(0)

  /** Looks again in every wait, after a frame was taken. */
  notify(): void {
    this.#frames.emit('frame')
  }

  /** Resolves with the next frame. Rejects when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    await once(this.#frames, 'frame', { signal })
  }

  /** Resolves when something holds after a frame, or the time is over. */
  async until(holds: () => boolean, timeout_ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const undo = this.onFrame(() => {
      if (holds()) over.abort()
    })
    if (!holds()) await wait(timeout_ms, AbortSignal.any([over.signal, signal]))
    undo()
  }

  /** Calls the listener after each frame. Returns the function that ends this. */
  onFrame(listener: () => void): () => void {
    this.#frames.on('frame', listener)
    return () => void this.#frames.off('frame', listener)
  }
}
