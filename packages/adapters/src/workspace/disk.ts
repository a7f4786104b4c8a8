import { AsyncLocalStorage } from "node:async_hooks";
import * as fs from "node:fs/promises";

export type { FileHandle } from "node:fs/promises";

/** Called before each call to the file system, with the call's name. What it throws becomes the call's answer. */
export type DiskHook = (call: string) => void;

/** Bound to the work and not to this module, so that work beside it stays undisturbed. */
const hooks = new AsyncLocalStorage<DiskHook>();

/** Every call to the file system that the work makes asks the hook first: the seam by which tests let a disk fail. */
export function withDiskHook<T>(hook: DiskHook, work: () => Promise<T>): Promise<T> {
  return hooks.run(hook, work);
}

function asking<F extends (...args: never[]) => Promise<unknown>>(name: string, call: F): F {
  return new Proxy(call, {
    apply: (target, self, args) => {
      const hook = hooks.getStore();
      if (!hook) return Reflect.apply(target, self, args);
      try {
        hook(name);
      } catch (error) {
        // A close that fails has closed all the same.
        if (name === "handle.close")
          return Reflect.apply(target, self, args).then(() => Promise.reject(error));
        return Promise.reject(error);
      }
      return Reflect.apply(target, self, args);
    },
  });
}

function askingHandle(handle: fs.FileHandle): fs.FileHandle {
  return new Proxy(handle, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? asking(`handle.${String(name)}`, value.bind(target)) : value;
    },
  });
}

export const open = asking("open", async (...args: Parameters<typeof fs.open>): Promise<fs.FileHandle> => {
  const handle = await fs.open(...args);
  return hooks.getStore() ? askingHandle(handle) : handle;
});
export const chmod = asking("chmod", fs.chmod);
export const chown = asking("chown", fs.chown);
export const copyFile = asking("copyFile", fs.copyFile);
export const lchown = asking("lchown", fs.lchown);
export const link = asking("link", fs.link);
export const lstat = asking("lstat", fs.lstat);
export const lutimes = asking("lutimes", fs.lutimes);
export const mkdir = asking("mkdir", fs.mkdir);
export const readdir = asking("readdir", fs.readdir);
export const readFile = asking("readFile", fs.readFile);
export const readlink = asking("readlink", fs.readlink);
export const rename = asking("rename", fs.rename);
export const rmdir = asking("rmdir", fs.rmdir);
export const stat = asking("stat", fs.stat);
export const symlink = asking("symlink", fs.symlink);
export const unlink = asking("unlink", fs.unlink);
export const utimes = asking("utimes", fs.utimes);
export const writeFile = asking("writeFile", fs.writeFile);
