//! Writes a statement into a folder: whole or not at all, and never over another file.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::files::file_name;
use crate::render;
use crate::statement::Statement;
use crate::value::Sha256;
use crate::verify::MAX_FILE_BYTES;

/// Why a statement was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The folder could not be made.
    #[error("the folder {} could not be made: {source}", .folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of this name is there already. It is left as it is: it holds this very statement, or
    /// one of the same second whose digest begins alike.
    #[error("{} exists already and is not overwritten", .0.display())]
    Exists(PathBuf),
    /// The file would be larger than verify reads, 64 MiB. Nothing is written.
    #[error("the statement takes {0} bytes, more than the 64 MiB that verify reads")]
    TooLarge(usize),
    /// The file could not be written; no part of it is left behind.
    #[error("{} could not be written: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Statement {
    /// Writes the statement into `folder`, which is made if it is missing, and says where:
    /// `stress-20261129T171500Z-1f2e3d4c.json`, of kind, time of the end in UTC, and the first
    /// digits of the digest.
    ///
    /// A reader sees the whole file or none: it is written under another name, synced, and only then
    /// given its own; then the folder is synced.
    ///
    /// # Errors
    ///
    /// Each variant of [`WriteError`].
    pub fn write(&self, folder: &Path) -> Result<PathBuf, WriteError> {
        let text = render::render(self);
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(WriteError::TooLarge(text.len()));
        }
        fs::create_dir_all(folder).map_err(|source| WriteError::Folder {
            folder: folder.to_path_buf(),
            source,
        })?;
        let path = folder.join(file_name(self));
        let failed = |source| WriteError::File {
            path: path.clone(),
            source,
        };
        let mut draft = tempfile::Builder::new();
        draft.prefix(".evidence-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            draft.permissions(fs::Permissions::from_mode(0o644));
        }
        let mut draft = draft.tempfile_in(folder).map_err(failed)?;
        draft.write_all(text.as_bytes()).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        draft
            .persist_noclobber(&path)
            .map_err(|refused| match refused.error.kind() {
                io::ErrorKind::AlreadyExists => WriteError::Exists(path.clone()),
                _ => failed(refused.error),
            })?;
        sync_folder(folder).map_err(failed)?;
        Ok(path)
    }

    /// The digest of this statement as it is now, whatever its `digest` field says: SHA-256 over the
    /// canonical JSON (RFC 8785) of everything but that field.
    pub fn digest(&self) -> Sha256 {
        render::digest(self)
    }

    /// The file of this statement, byte for byte, as [`Statement::write`] writes it.
    pub fn to_json(&self) -> String {
        render::render(self)
    }
}

/// A new name is durable only once its folder is synced. Windows can not open a folder and needs
/// no such thing.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
