import { setFlagsFromString } from 'node:v8'

/*
 * Preloaded behind the flags of the heap, which V8 has read by now. It takes cached code only under
 * the flags with which that was made: with those of the heap gone, the code of Node's own modules
 * that is built into its program is taken again, in worker threads too, and the compiled sources
 * are those of a plain start.
 */
for (const name of ['min-semi-space-size', 'max-semi-space-size', 'initial-old-space-size'])
  setFlagsFromString(`--${name}=0`)
