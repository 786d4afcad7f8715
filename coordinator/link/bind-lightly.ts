import type { AsyncResource } from 'node:async_hooks'

type Run = (this: unknown, ...args: unknown[]) => unknown

/**
 * Makes `bind` of a class of async resources cheap. `node:http2` binds every request that it opens,
 * and the `bind` of Node 24 gives each bound function accessors of its own for `asyncResource`, which
 * is deprecated (DEP0172): a hidden class for every request, and several closures that last until a
 * whole collection of the memory. What is bound runs as before, in the context and with the `this` and
 * arguments it had; only `asyncResource` and `length` are missing.
 */
export const bindLightly = ({ prototype }: Pick<typeof AsyncResource, 'prototype'>): void => {
  const bind = function (this: AsyncResource, run: Run, thisArg?: unknown): Run {
    const resource = this
    return function (...args) {
      return resource.runInAsyncScope(run, thisArg ?? this, ...args)
    }
  }
  Object.defineProperty(prototype, 'bind', { value: bind, writable: true, configurable: true })
}
