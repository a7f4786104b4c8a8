import { type Attempt, familyOf, refused } from "../attempt.ts";

const hidden = familyOf("hidden paths");
const NOTHING = refused("NOTHING", "ENOENT");
const MASKED = refused(
  "EACCES",
  "ENOENT",
  "EROFS",
  "EBUSY",
  "EXDEV",
  "EPERM",
  "EEXIST",
  "NOTHING",
  "ENOTDIR",
  "ENXIO",
);
const EACH_VIEW = ["overlay", "copy"] as const;

export const HIDDEN: Attempt[] = [
  ...EACH_VIEW.flatMap((workspace) => [
    hidden.attack(
      `reading hidden files (${workspace})`,
      ["read_paths", "{hiddenFile}", "{workspace}/.git/hooks/pre-commit", "{workspace}/.sallyport/key.txt"],
      MASKED,
      { workspace, ...(workspace === "overlay" && { core: true as const, bites: true as const }) },
    ),
    hidden.attack(
      `listing hidden folders (${workspace})`,
      ["list_paths", "{workspace}/.git/hooks", "{workspace}/.sallyport"],
      MASKED,
      { workspace },
    ),
    hidden.attack(
      `writing hidden files (${workspace})`,
      ["write_paths", "{hiddenFile}", "{workspace}/.git/hooks/pre-commit", "{workspace}/.sallyport/key.txt"],
      MASKED,
      { workspace },
    ),
    hidden.attack(
      `making files in hidden folders (${workspace})`,
      ["create_paths", "{workspace}/.git/hooks/post-merge", "{workspace}/.sallyport/new"],
      MASKED,
      { workspace },
    ),
    hidden.attack(`renaming hidden paths or their parents (${workspace})`, "rename_hidden", MASKED, {
      workspace,
    }),
    hidden.attack(`linking to hidden files (${workspace})`, "link_hidden", MASKED, { workspace }),
    hidden.attack(`removing what covers them (${workspace})`, "remove_masks", MASKED, { workspace }),
    hidden.attack(`planting a hook of git's (${workspace})`, "plant_hook", MASKED, { workspace }),
  ]),
  hidden.attack("hidden files by odd names", "odd_names_of_hidden", MASKED),
  hidden.attack("swapping a hidden folder's parent in a race", "race_parent_of_hidden", NOTHING, {
    workspace: "overlay",
  }),
  hidden.attack(
    "a hidden socket in a mounted folder",
    ["connect_unix", "{hiddenSocket}"],
    refused("ECONNREFUSED", "EACCES", "ENOENT", "EPROTOTYPE"),
    { extra: "sockets" },
  ),
  hidden.script(
    "hidden files with ordinary tools",
    'cat "$X_HIDDEN_FILE" | grep CANARY[-] && echo ESCAPED; grep -r CANARY[-] "$X_WS" && echo ESCAPED; tar cf - "$X_WS" 2>/dev/null | grep -a CANARY[-] && echo ESCAPED; echo "REFUSED tools NOTHING"',
    MASKED,
  ),
];
